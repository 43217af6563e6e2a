#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "advisor/device/calibration.h"

namespace headwise {

/// What one time was looked up in, or computed from.
struct Provenance {
  std::string what;            ///< the operator: "product 8192 x 2112 x 7168, fp8_block"
  std::filesystem::path file;  ///< a calibration, or what efficiencies came from
  std::string query;           ///< of the calibration; empty: none was asked
  AxisValues at;
  std::string system, framework, version;  ///< empty where no calibration was asked
  std::string basis;                       ///< one sentence
  std::string source;                      ///< the label
  double error = 0.0;                      ///< relative
};

/// A time, how much of it is known how, and where it comes from.
struct Estimate {
  double seconds = 0.0;
  double error = 0.0;  ///< relative
  // Seconds of `seconds`; what is in none of them was measured here.
  double interpolated = 0.0, extrapolated = 0.0, third_party = 0.0, assumed = 0.0;
  std::vector<std::shared_ptr<const Provenance>> of;
  std::string why_not;  ///< not empty: there is no estimate

  explicit operator bool() const { return why_not.empty(); }

  /// "measured", "interpolated", "extrapolated", "third-party", "third-party, interpolated",
  /// "third-party, extrapolated" or "assumed": the weakest that a tenth of the time deserves.
  const char* source() const;

  /// Errors add as they are, since those of one table go together. A part that is unknown makes the
  /// sum unknown.
  Estimate& operator+=(const Estimate& other);

  /// `factor` is positive.
  Estimate scaled(double factor) const;

  /// The same time, known only by a rule: extrapolated, with an error wider by `error`.
  Estimate by_rule(double error) const;
};

Estimate operator+(Estimate a, const Estimate& b);
Estimate sum(const std::vector<Estimate>& parts);

/// The larger, or the one that is unknown.
Estimate larger(const Estimate& a, const Estimate& b);

Estimate unknown(std::string why_not);

}  // namespace headwise
