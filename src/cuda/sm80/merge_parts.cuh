#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm80/shared_layout.cuh"
#include "cuda/step/part_rows.cuh"
#include "cuda/step/results.cuh"

namespace headwise::cuda::sm80 {

// Items that hold parts of rows only count that they are done. When no item is left to take, blocks
// turn to merging, a warp a row: rows spread over all of them, while the last parts are still under
// way elsewhere. Nobody waits for an item that no block has taken.

/// Counts the results of an item, which is a part, for the split that waits for them. A shared
/// prefix's are merged by the launch behind this one.
template <class Config>
__device__ __forceinline__ void count_part(const StepArgs& args, const ItemView& view) {
  __syncthreads();
  const int count = view.shares_prefix() ? 0 : 1;
  if (static_cast<int>(threadIdx.x) < count)
    ptx::count_up(args.parts_done + view.item.split + threadIdx.x);
}

/// Merges a row's parts by all warps of a block, each of which takes a run of them. `scratch`:
/// shared memory. A call: inlined, it would cost the items' loops registers.
template <int kDimV, int kWarps>
__device__ __noinline__ void merge_row_together(const StepArgs& args, const ItemView& view,
                                                const Parts& parts, int row, float* scratch) {
  using Merged = MergedParts<kDimV>;
  constexpr int kStride = Merged::kVectors * 128 + 4;  // floats of a warp's sums
  const int warp = threadIdx.x / 32;
  const int each = (parts.count() + kWarps - 1) / kWarps;
  Merged merged;
  merged.add(args, parts, min(warp * each, parts.count()), min((warp + 1) * each, parts.count()),
             row);
  float* own = scratch + warp * kStride;
#pragma unroll
  for (int i = 0; i < Merged::kVectors; ++i)
    *reinterpret_cast<float4*>(own + Merged::dim(i)) = merged.total[i];
  if (threadIdx.x % 32 == 0)
    *reinterpret_cast<float2*>(own + kStride - 4) = make_float2(merged.reference, merged.sum);
  __syncthreads();
  if (warp > 0) return;
  for (int other = 1; other < kWarps; ++other) {
    const float* from = scratch + other * kStride;
    const float2 stats = *reinterpret_cast<const float2*>(from + kStride - 4);
    float2 both = make_float2(merged.reference, merged.sum);
    const MergeWeights weights = merge_stats(both, stats);
    merged.reference = both.x;
    merged.sum = both.y;
    scale(merged.total, weights.first);
#pragma unroll
    for (int i = 0; i < Merged::kVectors; ++i) {
      const float4 four = *reinterpret_cast<const float4*>(from + Merged::dim(i));
      merged.total[i].x += weights.second * four.x;
      merged.total[i].y += weights.second * four.y;
      merged.total[i].z += weights.second * four.z;
      merged.total[i].w += weights.second * four.w;
    }
  }
  merged.store(args, view, row);
}

/// Merges this block's share of the rows of all splits, each when its parts are done: a row at a
/// time where there are no more rows than blocks, else one a warp.
template <class Config>
__device__ void merge_splits(const StepArgs& args, const SharedLayout<Config>& shared) {
  const ScheduleCounts counts = shared.counts();
  const bool in_order = Config::kInvariant || args.dim_v % 4 != 0;
  const bool together =
      !in_order && counts.splits * counts.split_rows <= static_cast<int>(gridDim.x);
  const int rows = together ? 1 : Config::kWarps;  // at a time
  const int groups = (counts.split_rows + rows - 1) / rows;
  ItemView& view = shared.view();
  for (int task = blockIdx.x; task < counts.splits * groups; task += gridDim.x) {
    const Parts parts{args.splits[task / groups]};
    if (task % groups * rows >= parts.split.rows) continue;
    __syncthreads();  // nobody needs the last split's view
    if (threadIdx.x == 0) view.template set<Config>(args, args.items[parts.split.item]);
    // Another warp: both are a trip to L2.
    if (threadIdx.x == 32) ptx::wait_for(args.parts_done + task / groups, parts.split.parts);
    __syncthreads();
    const int row = task % groups * rows + (together ? 0 : threadIdx.x / 32);
    if (row >= view.item.rows) continue;
    if (in_order)
      merge_row_in_order<Config::kDimV, 1>(args, view, parts, row);
    else if (together)
      merge_row_together<Config::kDimV, Config::kWarps>(args, view, parts, row, shared.scratch());
    else
      merge_row<Config::kDimV>(args, view, parts, row);
  }
}

}  // namespace headwise::cuda::sm80
