#include "bench/gpu_limits.h"

#include <algorithm>
#include <array>

#include "bench/gpu_timing.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

/// Median seconds of what `launch` launches, back to back; and the clock then.
struct Probed {
  double seconds;
  double mhz;
};
Probed probe(Gpu& gpu, const GpuProbeOptions& options, std::function<void()> launch) {
  GpuTurns turns(gpu, Protocol::sustained, 1, std::move(launch));
  const Samples samples = turns.take({.seconds = options.seconds, .warm_up_s = options.warm_up_s});
  return {median(samples), turns.mhz()};
}

void measure_memory(Gpu& gpu, const GpuProbeOptions& options, GpuLimits& limits) {
  constexpr std::array kBlocks{1, 2, 4, 8};  // a multiprocessor
  constexpr std::int64_t kUnit = 16;
  const std::int64_t bytes =
      std::max(kUnit, std::min(options.read_bytes, gpu.free_bytes() / 3) / kUnit * kUnit);
  const std::shared_ptr<void> from = gpu.allocate(bytes);
  const std::shared_ptr<void> to = gpu.allocate(bytes);
  // Random, as caches are: what the data are moves the power that reading takes.
  gpu.fill_random(from.get(), normal_table(DType::bf16), bytes / 2, 1);
  const auto size = static_cast<double>(bytes);
  for (const int blocks : kBlocks) {
    const Probed read = probe(gpu, options, [&] { gpu.read(from.get(), bytes, blocks); });
    limits.read_bytes_per_s = std::max(limits.read_bytes_per_s, size / read.seconds);
    limits.mhz = read.mhz;
  }
  const Probed copied = probe(gpu, options, [&] { gpu.copy(to.get(), from.get(), bytes); });
  limits.copy_bytes_per_s = 2.0 * size / copied.seconds;
}

/// FLOP/s of the best size; none without cuBLASLt.
std::optional<double> measure_product(Gpu& gpu, const GpuProbeOptions& options, DType type,
                                      double* mhz) {
  std::optional<double> best;
  for (const std::int64_t n : options.products) {
    const std::function<void()> product = gpu.product(type, n);
    if (!product) return {};
    const auto size = static_cast<double>(n);
    const Probed probed = probe(gpu, options, product);
    const double rate = 2.0 * size * size * size / probed.seconds;
    if (mhz != nullptr && rate > best.value_or(0.0)) *mhz = probed.mhz;
    best = std::max(best.value_or(0.0), rate);
  }
  return best;
}

}  // namespace

std::optional<ProductUnits> product_units(int compute_capability) {
  switch (compute_capability) {
    case 80:
      return ProductUnits{.half = 2048, .f8 = 2048, .single = 128};
    case 86:
      return ProductUnits{.half = 1024, .f8 = 1024, .single = 256};
    case 89:
      return ProductUnits{.half = 1024, .f8 = 2048, .single = 256};
    case 90:
      return ProductUnits{.half = 4096, .f8 = 8192, .single = 256};
    default:
      return {};
  }
}

HardwareLimits hardware_limits(const GpuInfo& gpu, const GpuLimits& limits, double mhz) {
  HardwareLimits hardware;
  hardware.read_bytes_per_s = limits.read_bytes_per_s;
  if (gpu.memory_bytes_per_second > 0)
    hardware.peak_read_bytes_per_s = static_cast<double>(gpu.memory_bytes_per_second);
  const std::optional<ProductUnits> units = product_units(gpu.compute_capability);
  const double clocks = (mhz > 0.0 ? mhz : gpu.clock_mhz) * 1e6 * gpu.multiprocessors;
  const auto rate = [&](const std::optional<double>& measured, double ProductUnits::*unit) {
    ProductRate result;
    if (units) result.peak = (*units).*unit * clocks;
    result.measured = measured.value_or(result.peak.value_or(0.0));
    return result;
  };
  hardware.f32 = rate(limits.f32_product, &ProductUnits::single);
  hardware.f16 = rate(limits.f16_product, &ProductUnits::half);
  hardware.bf16 = rate(limits.bf16_product, &ProductUnits::half);
  hardware.f8e4m3 = rate(limits.bf16_product, &ProductUnits::f8);
  return hardware;
}

GpuLimits measure_gpu_limits(Gpu& gpu, const GpuInfo& info, const GpuProbeOptions& options,
                             const std::function<void(std::string_view)>& progress) {
  GpuLimits limits;
  progress("measuring limits: memory");
  measure_memory(gpu, options, limits);
  progress("measuring limits: matrix products");
  limits.bf16_product = measure_product(gpu, options, DType::bf16, &limits.mhz);
  limits.f16_product = measure_product(gpu, options, DType::f16, nullptr);
  limits.f32_product = measure_product(gpu, options, DType::f32, nullptr);
  if (!limits.bf16_product && !product_units(info.compute_capability))
    throw Error(ErrorCode::not_possible,
                concat("cuBLASLt was not found, and how fast ", info.name,
                       " multiplies at most is not known here: there is nothing to compare with"));
  return limits;
}

}  // namespace headwise::bench
