#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/ptx/shared.cuh"

namespace headwise::cuda {

// What a warp's products leave: kM tiles of sixteen rows, kN of eight columns. Lane l = 4g + t
// holds rows g (elements 0 and 1) and g + 8 of each row tile, columns 2t and 2t + 1; its r-th row
// of 2 * kM is elements r % 2 * 2 and the next one of row tile r / 2.

template <int kM, int kN>
__device__ __forceinline__ void clear(float (&tiles)[kM][kN][4]) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) tiles[m][n][i] = 0.0F;
}

template <int kM, int kN>
__device__ __forceinline__ void multiply_all(float (&tiles)[kM][kN][4], float factor) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) tiles[m][n][i] *= factor;
}

/// The largest of what the lane holds of its r-th row.
template <int kM, int kN>
__device__ __forceinline__ float largest(const float (&tiles)[kM][kN][4], int r) {
  float value = -INFINITY;
#pragma unroll
  for (int n = 0; n < kN; ++n)
    value = fmaxf(value, fmaxf(tiles[r / 2][n][r % 2 * 2], tiles[r / 2][n][r % 2 * 2 + 1]));
  return value;
}

/// Makes 2^(x * scale - away) of the lane's r-th row and adds that up.
template <int kM, int kN>
__device__ __forceinline__ void exponentials(float (&tiles)[kM][kN][4], int r, float scale,
                                             float away, float& sum) {
#pragma unroll
  for (int n = 0; n < kN; ++n)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float& x = tiles[r / 2][n][r % 2 * 2 + j];
      x = ptx::exp2(fmaf(x, scale, -away));
      sum += x;
    }
}

/// Multiplies each column by its own of kN * 8 numbers in shared memory, and by `factor`.
template <int kM, int kN>
__device__ __forceinline__ void scale_columns(float (&tiles)[kM][kN][4], std::uint32_t numbers,
                                              int lane, float factor = 1.0F) {
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    const std::int64_t two = ptx::load_shared_64(numbers + (n * 8 + lane % 4 * 2) * 4);
    const float2 scale =
        make_float2(__uint_as_float(static_cast<std::uint32_t>(two)) * factor,
                    __uint_as_float(static_cast<std::uint32_t>(two >> 32)) * factor);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) tiles[m][n][i] *= i % 2 == 0 ? scale.x : scale.y;
  }
}

}  // namespace headwise::cuda
