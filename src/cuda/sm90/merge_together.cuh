#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm90/merge_last.cuh"
#include "cuda/sm90/shared_layout.cuh"

namespace headwise::cuda::sm90 {

// Parts of many rows are counted by sets of sixteen, a warp's. Blocks of equal shares end at about
// the same time, so that a warp that has nothing else to do looks for a while whether the others
// come; then each merges rows of its own, the first of those that came last. A warp that does not
// wait, or no longer, leaves its rows to the one that leaves last: nobody depends on a block that
// may not be running yet.

/// Of a set of a split: parts that were written, rows that were left to others (by bits), warps
/// that have left.
struct SetCounters {
  std::uint32_t written;
  std::uint32_t orphans;
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
  std::uint32_t own = 0;  // rows, by bits
  bool complete = false;
  if (speaks) {
    const std::uint32_t before = ptx::count_up(&counters->written);
    for (std::uint32_t row = parts - 1 - before; row < static_cast<std::uint32_t>(rows);
         row += parts)
      own |= 1U << row;
    complete = before + 1 == parts || (item.last && parts_come(counters, parts));
    if (!complete && own != 0) atomicOr(&counters->orphans, own);
  }
  own = uniform(complete ? own : 0);
  // One loop: with another in it the compiler keeps fewer uniform registers for those over tiles.
#pragma unroll 1
  for (bool leaves = false; own != 0 || !leaves;) {
    if (own != 0) {
      merge_row_of_split<Config>(args, item, first + __ffs(own) - 1);
      own &= own - 1;
      continue;
    }
    leaves = true;
    if (speaks && ptx::count_up(&counters->left) + 1 == parts) {
      own = counters->orphans;
      *counters = {0, 0, 0};
    }
    own = uniform(own);
  }
}

}  // namespace headwise::cuda::sm90
