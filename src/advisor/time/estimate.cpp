#include "advisor/time/estimate.h"

#include <algorithm>
#include <utility>

namespace headwise {
namespace {

/// The part of a time from which on it counts for the label.
constexpr double kShareThatCounts = 0.1;

}  // namespace

const char* Estimate::source() const {
  const auto counts = [this](double part) {
    return part > 0.0 && part >= kShareThatCounts * seconds;
  };
  if (counts(assumed)) return "assumed";
  const bool is_third_party = counts(third_party);
  if (counts(extrapolated)) return is_third_party ? "third-party, extrapolated" : "extrapolated";
  if (counts(interpolated + extrapolated))
    return is_third_party ? "third-party, interpolated" : "interpolated";
  return is_third_party ? "third-party" : "measured";
}

Estimate& Estimate::operator+=(const Estimate& other) {
  if (!why_not.empty()) return *this;
  if (!other.why_not.empty()) return *this = other;
  const double absolute = seconds * error + other.seconds * other.error;
  seconds += other.seconds;
  error = seconds > 0.0 ? absolute / seconds : 0.0;
  interpolated += other.interpolated;
  extrapolated += other.extrapolated;
  third_party += other.third_party;
  assumed += other.assumed;
  of.insert(of.end(), other.of.begin(), other.of.end());
  return *this;
}

Estimate Estimate::scaled(double factor) const {
  Estimate estimate = *this;
  for (double* part : {&estimate.seconds, &estimate.interpolated, &estimate.extrapolated,
                       &estimate.third_party, &estimate.assumed})
    *part *= factor;
  return estimate;
}

Estimate Estimate::by_rule(double wider) const {
  Estimate estimate = *this;
  estimate.error += wider;
  estimate.extrapolated = estimate.seconds;
  estimate.interpolated = 0.0;
  return estimate;
}

Estimate operator+(Estimate a, const Estimate& b) { return a += b; }

Estimate sum(const std::vector<Estimate>& parts) {
  Estimate total;
  for (const Estimate& part : parts) total += part;
  return total;
}

Estimate larger(const Estimate& a, const Estimate& b) {
  if (!a) return a;
  return !b || b.seconds > a.seconds ? b : a;
}

Estimate unknown(std::string why_not) {
  Estimate estimate;
  estimate.why_not = std::move(why_not);
  return estimate;
}

}  // namespace headwise
