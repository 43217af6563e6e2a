#include "advisor/time/device_times.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "advisor/time/attention_tables.h"
#include "advisor/time/expert_tables.h"
#include "core/check.h"

namespace headwise {
namespace {

/// Kernels pad to their tiles: what is smaller than anything measured is not faster.
constexpr double kSmallestSide = 256.0;

double number(const AxisValues& at, std::string_view name) {
  return std::get<double>(at.find(name)->second);
}

double product_work(const AxisValues& at) {
  return number(at, "m") * std::max(number(at, "n"), kSmallestSide) *
         std::max(number(at, "k"), kSmallestSide);
}

AxisValues values_of(const Product& product) {
  std::string weights =
      product.stored ? product.stored->name : std::string(name_of(product.weights));
  if (product.largest_only) weights += kLargestRow;
  return {{"weights", std::move(weights)},
          {"m", static_cast<double>(product.m)},
          {"n", static_cast<double>(product.n)},
          {"k", static_cast<double>(product.k)}};
}

}  // namespace

Estimate DeviceTimes::time(const CoreAttention& attention) const {
  const Estimate measured = AttentionTables(calibrated_, assumed_.efficiencies()).time(attention);
  return measured ? measured : assumed_.time(attention);
}

Estimate DeviceTimes::time(const Product& product) const {
  const std::string what = describe(product);
  if (const auto found = known_.find(what); found != known_.end()) return found->second;
  Estimate measured = calibrated_.lookup(what, "gemm", values_of(product), product_work);
  if (!measured && product.largest_only) {
    Product all = product;
    all.largest_only = false;
    measured = time(all);
  }
  return known_[what] = measured ? measured : assumed_.time(product);
}

Estimate DeviceTimes::time(const Pass& pass) const {
  const Estimate measured =
      calibrated_.lookup("norms and residuals", "layer_overhead",
                         {{"hidden", static_cast<double>(pass.hidden)},
                          {"projected", static_cast<double>(pass.projected)},
                          {"feed_forward", static_cast<double>(pass.feed_forward)},
                          {"rows", static_cast<double>(pass.rows)}},
                         [](const AxisValues& at) { return number(at, "rows"); });
  return measured ? measured : assumed_.time(pass);
}

Estimate DeviceTimes::time(const Experts& experts) const {
  const std::string what = concat(describe(experts), " of ", experts.hidden, ", ", experts.routing,
                                  ", tp ", experts.tp, ", ep ", experts.ep);
  if (const auto found = known_.find(what); found != known_.end()) return found->second;
  const Estimate measured = time_from_tables(calibrated_, experts);
  return known_[what] = measured ? measured : assumed_.time(experts);
}

Estimate DeviceTimes::time(const Exchange& exchange) const {
  if (exchange.kind != Exchange::Kind::all_reduce || exchange.devices <= 1 ||
      assumed_.has_other_link())
    return assumed_.time(exchange);
  const auto devices = static_cast<double>(exchange.devices);
  const Estimate measured = calibrated_.lookup(
      concat(name_of(exchange.kind), " over ", exchange.devices, " devices"), "all_reduce",
      {{"type", "bf16"}, {"devices", devices}, {"bytes", exchange.bytes}},
      [](const AxisValues& at) { return number(at, "bytes"); });
  return measured ? measured : assumed_.time(exchange);
}

DeviceTimes device_times(const Hardware& hardware, std::string_view framework,
                         std::optional<double> link_bytes_per_s, std::vector<Calibration> own) {
  std::ranges::move(read_calibrations(), std::back_inserter(own));
  return {AssumedTimes(hardware, default_efficiencies(), link_bytes_per_s),
          CalibratedTimes(std::move(own), hardware.system, framework)};
}

}  // namespace headwise
