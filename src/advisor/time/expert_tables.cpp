#include "advisor/time/expert_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "advisor/time/assumed_times.h"

namespace headwise {
namespace {

constexpr const char* kQuery = "moe";
constexpr double kShapeError = 0.1;
constexpr double kShapeErrorOfDoubling = 0.15;  ///< of an expert's matrices

double number(const AxisValues& at, std::string_view name) {
  return std::get<double>(at.find(name)->second);
}

double tokens_of(const AxisValues& at) { return number(at, "tokens"); }

AxisValues values_of(const Experts& experts) {
  return {{"weights", std::string(name_of(experts.weights))},
          {"routing", experts.routing},
          {"hidden", static_cast<double>(experts.hidden)},
          {"feed_forward", static_cast<double>(experts.width)},
          {"experts", static_cast<double>(experts.experts)},
          {"chosen", static_cast<double>(experts.top_k)},
          {"tp", static_cast<double>(experts.tp)},
          {"ep", static_cast<double>(experts.ep)},
          {"tokens", static_cast<double>(experts.tokens)}};
}

constexpr std::array kShape{"hidden", "feed_forward", "experts", "chosen"};

bool is_comparable(const AxisValues& fixed, const AxisValues& values) {
  return std::ranges::all_of(std::array{"weights", "routing", "tp", "ep"}, [&](const char* name) {
    const auto found = fixed.find(name);
    return found != fixed.end() && found->second == values.find(name)->second;
  });
}

double matrix(const AxisValues& at) { return number(at, "hidden") * number(at, "feed_forward"); }

double doublings(const AxisValues& a, const AxisValues& b) {
  return std::abs(std::log2(matrix(a) / matrix(b)));
}

double chosen_share(const AxisValues& at) { return number(at, "chosen") / number(at, "experts"); }

}  // namespace

Estimate time_from_tables(const CalibratedTimes& times, const Experts& experts) {
  const std::string what = describe(experts);
  const AxisValues wanted = values_of(experts);
  const Estimate same = times.lookup(what, kQuery, wanted, tokens_of);
  if (same) return same;
  std::optional<AxisValues> near;
  for (AxisValues& fixed : times.measured(kQuery))
    if (is_comparable(fixed, wanted) &&
        (!near || doublings(fixed, wanted) < doublings(*near, wanted)))
      near = std::move(fixed);
  if (!near) return same;
  AxisValues values = wanted;
  for (const char* name : kShape) values[name] = number(*near, name);
  values["tokens"] = std::max(
      1.0, static_cast<double>(experts.tokens) * chosen_share(wanted) / chosen_share(*near));
  const Estimate other = times.lookup(what, kQuery, values, tokens_of);
  if (!other) return same;
  const double weights =
      matrix(wanted) * number(wanted, "experts") / (matrix(*near) * number(*near, "experts"));
  return other.scaled(weights).by_rule(kShapeError +
                                       kShapeErrorOfDoubling * doublings(*near, wanted));
}

}  // namespace headwise
