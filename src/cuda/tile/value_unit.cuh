#pragma once

#include <cstdint>

#include "cuda/ptx/shared.cuh"

namespace headwise::cuda {

/// The power of two in which int8 values' scales are counted, so that probabilities times scales
/// stay in F16's range whatever the scales. A warp's sums of values are counted in it, too; it
/// grows with the largest scale that the warp has met.
class ValueUnit {
 public:
  /// Whether a scale of this magnitude is at most one unit.
  __device__ __forceinline__ bool holds(float scale) const { return !(scale * inverse_ > 1.0F); }

  /// Makes it hold `scale`; returns what sums so far must be multiplied by.
  __device__ __forceinline__ float grow(float scale) {
    if (holds(scale)) return 1.0F;
    const int above = static_cast<int>(__float_as_uint(scale) >> 23) - 126;  // 2^above > scale
    const float inverse =
        __uint_as_float(static_cast<std::uint32_t>(127 - min(max(above, -126), 126)) << 23);
    const float factor = inverse / inverse_;
    inverse_ = inverse;
    return factor;
  }

  /// What scales are multiplied by to be counted in it.
  __device__ __forceinline__ float inverse() const { return inverse_; }
  /// What sums are multiplied by in the end.
  __device__ __forceinline__ float value() const { return 1.0F / inverse_; }

 private:
  float inverse_ = 0x1p126F;
};

/// The largest magnitude among a warp's share of scales: numbers lane, lane + 32 ... of `count` in
/// shared memory.
__device__ __forceinline__ float largest_scale(std::uint32_t numbers, int count, int lane) {
  std::uint32_t largest = 0;
  for (int i = lane; i < count; i += 32)
    largest = max(largest, __float_as_uint(ptx::load_shared_float(numbers + i * 4)) & 0x7fffffffU);
  return __uint_as_float(__reduce_max_sync(~0U, largest));
}

}  // namespace headwise::cuda
