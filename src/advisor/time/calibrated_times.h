#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "advisor/device/calibration.h"
#include "advisor/time/estimate.h"

namespace headwise {

inline constexpr std::string_view kUsualFramework = "trtllm";

/// The calibrations of one system that are to be asked, in order: own measurements, those of
/// `framework`, and the usual framework's for queries that the others have nothing of.
class CalibratedTimes {
 public:
  /// `framework` empty: the usual one. Throws Error(unknown_name) if none of the system's
  /// third-party calibrations is of a framework that was given.
  CalibratedTimes(std::vector<Calibration> calibrations, std::string_view system,
                  std::string_view framework);

  bool empty() const { return calibrations_.empty(); }
  const std::vector<Calibration>& calibrations() const { return calibrations_; }

  /// The first answer, that of a calibration that need not extrapolate before others; unknown,
  /// with all their reasons, if there is none.
  Estimate lookup(const std::string& what, std::string_view query, const AxisValues& values,
                  const ScalingLaw& law) const;

  /// Whether a calibration that is asked for `query` has `axis` among its axes.
  bool has_axis(std::string_view query, std::string_view axis) const;

  /// The fixed values of all tables of `query`.
  std::vector<AxisValues> measured(std::string_view query) const;

 private:
  std::vector<const Calibration*> asked(std::string_view query) const;

  std::vector<Calibration> calibrations_;
};

/// All calibrations that come with Headwise.
std::vector<Calibration> read_calibrations();

}  // namespace headwise
