#pragma once

#include <cstdint>

#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm80 {

template <KvFormat kFormat>
inline constexpr bool kIs8Bit = is_8_bit(kFormat);

/// The products of one load of keys, from key tile n on: two tiles of 16-bit numbers or four of
/// 8-bit ones.
template <KvFormat kFormat, int kRowTiles, int kKeyTiles>
__device__ __forceinline__ void multiply_load(float (&logits)[kRowTiles][kKeyTiles][4], int n,
                                              const std::uint32_t (&q)[kRowTiles][4],
                                              const std::uint32_t (&b)[4]) {
  if constexpr (kIs8Bit<kFormat>) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const ptx::F16Pairs wide = widen<kFormat>(b[j]);
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        multiply<kFormat>(logits[m][n + j], q[m], wide.low, wide.high);
    }
  } else {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      multiply<kFormat>(logits[m][n], q[m], b[0], b[1]);
      multiply<kFormat>(logits[m][n + 1], q[m], b[2], b[3]);
    }
  }
}

/// The products of one load of values, from dimension tile n on.
template <KvFormat kFormat, int kRowTiles, int kDimTiles>
__device__ __forceinline__ void multiply_values(float (&out)[kRowTiles][kDimTiles][4], int n,
                                                const std::uint32_t (&p)[kRowTiles][4],
                                                const std::uint32_t (&b)[4]) {
  if constexpr (kIs8Bit<kFormat>) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const ptx::F16Pairs first = widen<kFormat>(__byte_perm(b[2 * c], 0, 0x3120));
      const ptx::F16Pairs second = widen<kFormat>(__byte_perm(b[2 * c + 1], 0, 0x3120));
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        multiply<kFormat>(out[m][n + 2 * c], p[m], first.low, second.low);
        multiply<kFormat>(out[m][n + 2 * c + 1], p[m], first.high, second.high);
      }
    }
  } else {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      multiply<kFormat>(out[m][n], p[m], b[0], b[1]);
      multiply<kFormat>(out[m][n + 1], p[m], b[2], b[3]);
    }
  }
}

}  // namespace headwise::cuda::sm80
