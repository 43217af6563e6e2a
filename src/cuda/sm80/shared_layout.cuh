#pragma once

#include "cuda/sm80/item_view.cuh"
#include "cuda/sm80/tile_config.h"

namespace headwise::cuda::sm80 {

/// What a block's dynamic shared memory holds. Items reuse it one after the other.
template <class Config>
struct SharedLayout {
  char* base;  ///< a multiple of 128

  __device__ char* queries() const { return base; }

  __device__ char* wide_ring() const { return base + Config::kWideRows * Config::kQRow; }
  __device__ char* wide_key_rows() const { return wide_ring() + Config::kWideRing; }
  __device__ char* narrow_ring() const { return base + Config::kNarrowRows * Config::kQRow; }
  __device__ char* narrow_key_rows() const { return narrow_ring() + Config::kNarrowRing; }

  __device__ float* row_scales() const { return reinterpret_cast<float*>(stats()); }
  /// Narrow: [key warps, rows] reference and sum; behind the few row scales that it has.
  __device__ float2* warp_stats() const { return reinterpret_cast<float2*>(stats() + 64); }
  __device__ ItemView& view() const { return *reinterpret_cast<ItemView*>(stats() + 640); }
  /// Positions of each warp's first and last row.
  __device__ int2* warp_positions() const { return reinterpret_cast<int2*>(stats() + 832); }
  __device__ volatile int* last_flag() const { return reinterpret_cast<int*>(stats() + 1016); }
  __device__ volatile int* item_index() const { return reinterpret_cast<int*>(stats() + 1020); }

 private:
  static_assert(sizeof(ItemView) <= 832 - 640);

  __device__ char* stats() const { return base + Config::kTileBytes; }
};

}  // namespace headwise::cuda::sm80
