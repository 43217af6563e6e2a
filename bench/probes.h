#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "advisor/roofline.h"
#include "headwise/machine.h"

namespace headwise::bench {

struct ProbeOptions {
  double seconds = 0.6;         ///< each probe, about
  std::int64_t read_bytes = 0;  ///< that the read walks through; 0: well past the last cache level
  std::int64_t product_size =
      2048;  ///< rows, columns and depth of the matrix product, and half of it
};

/// What the machine gave in this run, the best of each probe: neighbours only ever slow it down.
struct MachineLimits {
  int threads = 0;
  double read_bytes_per_s = 0.0;
  double f32_product = 0.0;            ///< FLOP/s of oneDNN's matrix product
  double f32_fma = 0.0;                ///< FLOP/s of multiply-adds in registers
  std::optional<double> bf16_product;  ///< absent: the machine has no BF16 instructions
  std::optional<double> bf16_dot;      ///< FLOP/s of BF16 dot products in registers

  /// The limits of attention: F16 is multiplied as F32, 8-bit products as BF16, and BF16 as F32
  /// where that is faster (some processors' BF16 instructions are slower than their F32 ones).
  HardwareLimits hardware() const;
};

/// Some seconds with `threads` threads. `progress` is told what is measured. Throws
/// Error(not_possible) where memory is short.
MachineLimits measure_limits(const Machine& machine, int threads, const ProbeOptions& options,
                             const std::function<void(std::string_view)>& progress);

}  // namespace headwise::bench
