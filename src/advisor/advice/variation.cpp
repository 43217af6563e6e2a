#include "advisor/advice/variation.h"

#include <array>
#include <charconv>
#include <limits>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::array kParameters{Parameter::kv_heads, Parameter::group_size, Parameter::head_dim,
                                 Parameter::window,   Parameter::full_every, Parameter::kv_type,
                                 Parameter::mla_rank};

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string safe;
  for (const char c : text.substr(0, kLongest)) safe += c < ' ' || c > '~' ? '?' : c;
  return concat("'", safe, text.size() > kLongest ? "..." : "", "'");
}

/// 1024s that a suffix stands for, which is taken off.
std::int64_t take_unit(std::string_view& digits) {
  constexpr std::int64_t kThousand = 1024;
  const char suffix = digits.empty() ? ' ' : digits.back();
  const bool is_thousand = suffix == 'k' || suffix == 'K';
  const bool is_million = suffix == 'm' || suffix == 'M';
  if (is_thousand || is_million) digits.remove_suffix(1);
  return is_thousand ? kThousand : is_million ? kThousand * kThousand : 1;
}

std::int64_t parse_count(Parameter parameter, std::string_view text) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::string_view digits = text;
  const std::int64_t unit = parameter == Parameter::window ? take_unit(digits) : 1;
  std::int64_t count = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, count);
  check(error == std::errc() && stop == end && count >= 1 && count <= kMost / unit,
        name_of(parameter), ": ", quoted(text), " is no whole number from 1 to ", kMost);
  return count * unit;
}

DType parse_type(std::string_view text) {
  try {
    return parse_dtype(text == "f8" ? "f8e4m3" : text);
  } catch (const Error&) {
    throw Error(ErrorCode::unknown_name,
                concat("kv_type: ", quoted(text), " is none of bf16, f16, f32, f8 and i8"));
  }
}

}  // namespace

const char* name_of(Parameter parameter) {
  switch (parameter) {
    case Parameter::kv_heads:
      return "kv_heads";
    case Parameter::group_size:
      return "group_size";
    case Parameter::head_dim:
      return "head_dim";
    case Parameter::window:
      return "window";
    case Parameter::full_every:
      return "full_every";
    case Parameter::kv_type:
      return "kv_type";
    case Parameter::mla_rank:
      break;
  }
  return "mla_rank";
}

Parameter parse_parameter(std::string_view name) {
  std::string names;
  for (const Parameter parameter : kParameters) {
    if (name == name_of(parameter)) return parameter;
    names += concat(names.empty() ? "" : ", ", name_of(parameter));
  }
  throw Error(ErrorCode::unknown_name,
              concat("unknown parameter ", quoted(name), "; there are ", names));
}

Variation count_variation(Parameter parameter, std::int64_t count) {
  return {.parameter = parameter, .count = count, .text = concat(count)};
}

Variation type_variation(DType type) {
  return {.parameter = Parameter::kv_type, .type = type, .text = std::string(name_of(type))};
}

Variation parse_variation(Parameter parameter, std::string_view text) {
  Variation variation{.parameter = parameter, .text = std::string(text)};
  if (parameter == Parameter::kv_type)
    variation.type = parse_type(text);
  else if (parameter != Parameter::window || text != "full")
    variation.count = parse_count(parameter, text);
  return variation;
}

}  // namespace headwise
