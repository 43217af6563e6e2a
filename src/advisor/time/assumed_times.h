#pragma once

#include <optional>
#include <string>

#include "advisor/device/efficiency.h"
#include "advisor/device/hardware.h"
#include "advisor/time/core_attention_work.h"
#include "advisor/time/estimate.h"
#include "advisor/time/operators.h"

namespace headwise {

enum class DeviceLimit : std::uint8_t { compute, bandwidth, exponentials };
const char* name_of(DeviceLimit limit);

/// Which of a device's rates binds, at its datasheet's rates.
DeviceLimit limit_of(const Hardware& hardware, const CoreAttention& attention);

/// Products a second in the type, or in the next wider one that the device has a rate of.
std::optional<double> product_rate(const Hardware& hardware, DType type);
std::optional<double> product_rate(const Hardware& hardware, WeightFormat format);

/// Times of operators that nobody measured: the largest of FLOPs, bytes and exponentials, each over
/// its rate times what kernels reach of it, and a kernel's own time. Labelled assumed. Where no
/// rate of products is known, only what reads can bind is estimated.
class AssumedTimes {
 public:
  /// `link_bytes_per_s` is one direction; absent: the hardware's.
  AssumedTimes(Hardware hardware, Efficiencies efficiencies,
               std::optional<double> link_bytes_per_s = {});

  const Hardware& hardware() const { return hardware_; }
  const Efficiencies& efficiencies() const { return efficiencies_; }
  bool has_other_link() const { return has_other_link_; }  ///< than the hardware's

  Estimate time(const CoreAttention& attention) const;
  Estimate time(const Product& product) const;
  Estimate time(const Experts& experts) const;
  Estimate time(const Pass& pass) const;
  Estimate time(const Exchange& exchange) const;  ///< rings

 private:
  struct Reached;  // of each rate
  Estimate windowed(const SoftmaxAttention& shape, const CoreAttention& core) const;
  Estimate bound(const std::string& what, const DeviceWork& work, const Reached& reached) const;
  Estimate assumed(const std::string& what, double seconds, double error, std::string basis) const;

  Hardware hardware_;
  Efficiencies efficiencies_;
  bool has_other_link_;
  std::optional<double> link_;
};

/// Behind the weights' name, where calibrations are asked for Product::largest_only.
inline constexpr const char* kLargestRow = ", largest row";

/// For people.
std::string describe(const Product& product);
std::string describe(const Experts& experts);

}  // namespace headwise
