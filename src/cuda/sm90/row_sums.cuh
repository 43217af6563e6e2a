#pragma once

#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm90 {

/// By so much (in log2) a row's reference lies above what raised() makes of the largest logit that
/// it was set by, where others count on it: they may pass that logit by twice as much, in F16 by
/// 14, before probabilities leave the range that they have.
template <class Config>
inline constexpr float kHeadroomBits = Config::kInvariant                  ? 0.0F
                                       : Config::kFormat == KvFormat::bf16 ? 32.0F
                                                                           : 5.0F;
/// BF16: sums above it say that a logit passed by more. F16's probabilities are infinite then.
inline constexpr float kMostSum = 4294967296.0F;  // 2^32

/// Each of a lane's two rows: its reference, and the sum of its probabilities under it.
struct RowSums {
  float reference[2] = {-INFINITY, -INFINITY};
  float sum[2] = {};

  /// Each lane's sums become their rows'.
  __device__ __forceinline__ void add_up_lanes() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0U, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0U, sum[r], 2);
    }
  }

  /// Moves references up to the lanes' largest logits, with headroom, `top`. `factor`: what sums
  /// from before count then. A reference whose logits do not pass it stays where other rows must
  /// not show in its row's bits.
  template <class Config>
  __device__ __forceinline__ void raise(const float (&top)[2], float (&factor)[2]) {
    constexpr KvFormat kFormat = Config::kFormat;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float now = fmaxf(top[r], __shfl_xor_sync(~0U, top[r], 1));
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 2));
      if (Config::kInvariant && !passes<kFormat>(reference[r], now))
        now = reference[r];
      else
        now = raised<kFormat>(reference[r], now);
      factor[r] = rescale_factor(reference[r], now);
      reference[r] = now;
      // What is too large is found at the end, and must not become 0 before.
      const bool fits = Config::kInvariant || kFormat != KvFormat::bf16 || sum[r] <= kMostSum;
      sum[r] = fits ? sum[r] * factor[r] : INFINITY;
    }
  }
};

}  // namespace headwise::cuda::sm90
