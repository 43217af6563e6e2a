#pragma once

#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared.cuh"

namespace headwise::cuda::sm90 {

/// Two warpgroups start their products by turns, a turn each for every tile. Else both multiply at
/// the same time, and then both compute exponentials while the tensor cores wait (FlashAttention-3,
/// section 3.1). Three groups, or tiles of 64 keys, are the slower for it.
template <class Config>
struct Turns {
  int group;

  /// Before the first tile: it is the first group's turn.
  __device__ __forceinline__ void begin() const {
    if (group == 1) give();
  }
  __device__ __forceinline__ void await() const {
    if constexpr (Config::kTakesTurns) ptx::named_barrier(barrier_of(group), 256);
  }
  __device__ __forceinline__ void give() const {
    if constexpr (Config::kTakesTurns) ptx::arrive_at_named_barrier(barrier_of(1 - group), 256);
  }

 private:
  __device__ __forceinline__ static int barrier_of(int group) { return 6 + group; }
};

}  // namespace headwise::cuda::sm90
