#include "advisor/advice/speed_up.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace headwise {
namespace {

/// The files and tables that a time was made of.
std::set<std::pair<std::string, std::string>> tables_of(const Estimate& estimate) {
  std::set<std::pair<std::string, std::string>> tables;
  for (const auto& from : estimate.of) tables.emplace(from->file.string(), from->query);
  return tables;
}

/// Of a part's share in both sums.
double error_of(const Estimate& before, double total_before, const Estimate& after,
                double total_after) {
  const double share_before = before.seconds / total_before;
  const double share_after = after.seconds / total_after;
  if (before.seconds == after.seconds && before.error == after.error)
    return before.error * std::abs(share_before - share_after);
  const double a = before.error * share_before, b = after.error * share_after;
  return tables_of(before) == tables_of(after) ? std::max(a, b) : a + b;
}

SpeedUp ratio_of(const Estimate& before, const Estimate& after, double error) {
  // Both weigh the same, or a long step would hide what the short one rests on.
  const Estimate both = before.scaled(1.0 / before.seconds) + after.scaled(1.0 / after.seconds);
  return {.ratio = before.seconds / after.seconds,
          .error = error,
          .source = both.source(),
          .why_not = {}};
}

std::string why_unknown(const Estimate& before, const Estimate& after) {
  for (const Estimate* time : {&before, &after}) {
    if (!*time) return time->why_not;
    if (time->seconds <= 0.0) return "it takes no time";
  }
  return {};
}

}  // namespace

SpeedUp speed_up(const Estimate& before, const Estimate& after) {
  if (std::string why = why_unknown(before, after); !why.empty()) return {.why_not = why};
  return ratio_of(before, after, error_of(before, before.seconds, after, after.seconds));
}

SpeedUp speed_up(const StepTime& before, const StepTime& after) {
  const Estimate whole_before = before.total(), whole_after = after.total();
  if (std::string why = why_unknown(whole_before, whole_after); !why.empty())
    return {.why_not = why};
  double error = 0.0;
  for (std::size_t i = 0; i < kStepParts; ++i)
    error += error_of(before.parts[i], whole_before.seconds, after.parts[i], whole_after.seconds);
  return ratio_of(whole_before, whole_after, error);
}

}  // namespace headwise
