#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "advisor/roofline.h"
#include "bench/gpu.h"
#include "headwise/machine.h"

namespace headwise::bench {

struct GpuProbeOptions {
  double warm_up_s = 0.06;              ///< each probe, about
  double seconds = 0.15;                ///< the same, timed
  std::int64_t read_bytes = 4LL << 30;  ///< that copy and read walk through, if a third is free
  std::vector<std::int64_t> products{4096, 8192};  ///< rows of the matrices
};

/// What a GPU gave in this run, sustained: medians, of the best size or setting of each probe.
struct GpuLimits {
  double read_bytes_per_s = 0.0;
  double copy_bytes_per_s = 0.0;       ///< read and written
  std::optional<double> bf16_product;  ///< FLOP/s of cuBLASLt; absent: it was not found
  std::optional<double> f16_product;
  std::optional<double> f32_product;
  double mhz = 0.0;  ///< behind the BF16 products, or the read
};

/// FLOP a clock and multiprocessor of dense products.
struct ProductUnits {
  double half = 0.0;    ///< BF16 and F16 operands, F32 sums
  double f8 = 0.0;      ///< f8e4m3; `half` where there are no such units
  double single = 0.0;  ///< F32 operands, not TF32
};
/// By compute capability; none for those that are not known here.
std::optional<ProductUnits> product_units(int compute_capability);

/// The limits of attention on `gpu` with its multiprocessors at `mhz`; 0: at their highest clock.
/// Where a product was not measured, the units' rate stands for it.
HardwareLimits hardware_limits(const GpuInfo& gpu, const GpuLimits& limits, double mhz);

/// A second or two. `progress` is told what is measured. Throws Error(not_possible): without
/// cuBLASLt nothing is known of the products of an unknown GPU.
GpuLimits measure_gpu_limits(Gpu& gpu, const GpuInfo& info, const GpuProbeOptions& options,
                             const std::function<void(std::string_view)>& progress);

}  // namespace headwise::bench
