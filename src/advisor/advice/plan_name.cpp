#include "advisor/advice/plan_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::int64_t kMostDevices = 4096;
constexpr std::string_view kSeparators = "/,-_ ";

struct Width {
  const char* name;
  std::int64_t Deployment::*width;
};
constexpr std::array kWidths{Width{"TP", &Deployment::tp},   Width{"ADP", &Deployment::adp},
                             Width{"KVP", &Deployment::kvp}, Width{"TPFF", &Deployment::tp_ff},
                             Width{"EP", &Deployment::ep},   Width{"PP", &Deployment::pp}};

/// The next letters, as capitals.
std::string take_word(std::string_view& rest) {
  std::string word;
  while (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest.front())) != 0) {
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(rest.front())));
    rest.remove_prefix(1);
  }
  return word;
}

/// 0: no number from 1 to kMostDevices stands there.
std::int64_t take_number(std::string_view& rest) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 1 || number > kMostDevices) return 0;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return number;
}

}  // namespace

std::string plan_name(const Deployment& plan) {
  std::string name;
  for (const Width& each : kWidths) {
    const std::int64_t width = plan.*each.width;
    const bool is_named =
        each.width == &Deployment::tp_ff ? width != plan.tp * plan.kvp : width > 1;
    if (is_named) name += concat(name.empty() ? "" : "/", each.name, width);
  }
  return name.empty() ? "TP1" : name;
}

Deployment parse_plan(std::string_view name, Deployment types) {
  constexpr std::int64_t kNotNamed = 0;
  for (const Width& each : kWidths) types.*each.width = kNotNamed;
  std::string_view rest = name;
  bool is_empty = true;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSeparators), rest.size()));
    if (rest.empty()) break;
    const std::string word = take_word(rest);
    const auto* found = std::ranges::find(kWidths, word, &Width::name);
    check(found != kWidths.end(), "plan \"", name, "\": \"",
          word.empty() ? std::string(rest) : word, "\" is none of TP, ADP, KVP, TPFF, EP, PP");
    check(types.*found->width == kNotNamed, "plan \"", name, "\": ", word, " stands there twice");
    types.*found->width = take_number(rest);
    check(types.*found->width > 0, "plan \"", name, "\": ", word, " needs a number from 1 to ",
          kMostDevices);
    is_empty = false;
  }
  check(!is_empty, "plan \"", name, "\": it has no parts, such as TP8");
  for (const Width& each : kWidths)
    if (types.*each.width == kNotNamed)
      types.*each.width = each.width == &Deployment::tp_ff ? types.tp * types.kvp : 1;
  check(types.tp <= kMostDevices / types.adp && types.tp * types.adp <= kMostDevices / types.kvp &&
            types.stage_devices() <= kMostDevices / types.pp,
        "plan \"", name, "\": more than ", kMostDevices, " devices");
  return types;
}

}  // namespace headwise
