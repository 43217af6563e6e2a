#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "advisor/time/assumed_times.h"
#include "advisor/time/calibrated_times.h"

namespace headwise {

/// What one device takes for an operator: as a calibration has it, by a rule from what is nearest
/// there, or by AssumedTimes; which of them the estimate says. Remembers products and experts, so
/// it belongs to one thread.
class DeviceTimes {
 public:
  DeviceTimes(AssumedTimes assumed, CalibratedTimes calibrated)
      : assumed_(std::move(assumed)), calibrated_(std::move(calibrated)) {}

  const Hardware& hardware() const { return assumed_.hardware(); }
  const AssumedTimes& assumed() const { return assumed_; }
  const CalibratedTimes& calibrated() const { return calibrated_; }

  Estimate time(const CoreAttention& attention) const;
  Estimate time(const Product& product) const;
  Estimate time(const Experts& experts) const;
  Estimate time(const Pass& pass) const;
  Estimate time(const Exchange& exchange) const;  ///< assumed where another link was given

 private:
  AssumedTimes assumed_;
  CalibratedTimes calibrated_;
  mutable std::map<std::string, Estimate, std::less<>> known_;  // by description
};

/// The efficiencies and calibrations that come with Headwise, `own` ones of the device before them.
/// `framework` empty: TensorRT-LLM's.
DeviceTimes device_times(const Hardware& hardware, std::string_view framework = {},
                         std::optional<double> link_bytes_per_s = {},
                         std::vector<Calibration> own = {});

}  // namespace headwise
