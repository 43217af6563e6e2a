#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm90/merge_last.cuh"
#include "cuda/sm90/shared_layout.cuh"

namespace headwise::cuda::sm90 {

// Parts of many rows are counted by sets of sixteen, a warp's. Blocks of equal shares end at about
// the same time, so that a warp that has nothing else to do looks for a while whether the others
// come; then all that are there merge the set, row by row. A warp that does not wait, or no longer,
// leaves its rows to the one that brings the last part: nobody depends on a block that may not be
// running yet.

/// Of a set of a split: parts that were written, rows that somebody merges, warps that have left.
struct SetCounters {
  std::uint32_t written;
  std::uint32_t taken;
  std::uint32_t left;
};

/// Whether all `parts` of a set have been written, now or soon. By one lane.
__device__ __forceinline__ bool parts_come(const SetCounters* counters, std::uint32_t parts) {
  constexpr int kMostLooks = 32;  // each takes a trip to L2: some 20 us
  for (int i = 0; i < kMostLooks; ++i) {
    std::uint32_t now;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(now)
                 : "l"(&counters->written)
                 : "memory");
    if (now < parts) continue;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    return true;
  }
  return false;
}

/// Where a token's bits must not depend on the step, in order.
template <class Config>
__device__ __forceinline__ void merge_row_of_split(const StepArgs& args, const HandedItem& item,
                                                   int row) {
  const Parts parts{item.split};
  if constexpr (Config::kInvariant)
    merge_row_in_order<Config::kDimV, 2048 / Config::kDimV>(args, item.view, parts, row);
  else
    merge_parts<Config::kDimV>(args, parts, row).store(args, item.view, row);
}

/// Counts `rows` rows of a part from `first` on that the warp has written, and merges what there is
/// to merge.
template <class Config>
__device__ __forceinline__ void merge_together(const StepArgs& args, const HandedItem& item,
                                               int first, int rows) {
  auto* counters = reinterpret_cast<SetCounters*>(args.parts_done) + item.split.part_row + first;
  const auto parts = static_cast<std::uint32_t>(item.split.parts);
  const bool speaks = threadIdx.x % 32 == 0;
  __syncwarp();
  bool complete = false;
  if (speaks) {
    complete = ptx::count_up(&counters->written) + 1 == parts;
    if (!complete && item.last) complete = parts_come(counters, parts);
  }
  complete = __shfl_sync(~0U, static_cast<int>(complete), 0) != 0;
  while (complete) {
    int row = 0;
    if (speaks) row = static_cast<int>(atomicAdd(&counters->taken, 1U));
    row = __shfl_sync(~0U, row, 0);
    if (row >= rows) break;
    merge_row_of_split<Config>(args, item, first + row);
    __syncwarp();
  }
  if (speaks && ptx::count_up(&counters->left) + 1 == parts) *counters = {0, 0, 0};
}

}  // namespace headwise::cuda::sm90
