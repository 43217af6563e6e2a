#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/part_rows.cuh"

namespace headwise::cuda::sm90 {

/// A barrier of the warps that take keys.
template <class Config>
__device__ __forceinline__ void sync_warps() {
  ptx::named_barrier(1, Config::kThreads);
}

/// Counts a part; the block that brings a split's last one merges its rows.
template <class Config>
__device__ __noinline__ void merge_if_last(const StepArgs& args, HandedItem& item,
                                           volatile int* is_last) {
  if (threadIdx.x == 0) {
    std::uint32_t* done = args.parts_done + item.view.item.split;
    *is_last = ptx::count_up(done) + 1 == static_cast<std::uint32_t>(item.split.items);
    if (*is_last) {
      *done = 0;
      item.view.item.part_row = -1;
    }
  }
  sync_warps<Config>();
  if (!*is_last) return;
  const Parts parts{item.split};
  for (int row = threadIdx.x / 32; row < item.view.item.rows; row += Config::kWarps)
    merge_row<Config::kDimV>(args, item.view, parts, row);
}

}  // namespace headwise::cuda::sm90
