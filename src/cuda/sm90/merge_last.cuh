#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/part_rows.cuh"

namespace headwise::cuda::sm90 {

// Parts of rows are counted row by row: the warp that brings a row's last part merges it. Nobody
// waits for another block, which may not be running yet.

/// A barrier of the warps that take keys.
template <class Config>
__device__ __forceinline__ void sync_warps() {
  ptx::named_barrier(1, Config::kThreads);
}

/// Counts rows first ... first + count - 1 of a part, at most 32, that have been written before the
/// warp's or the block's last barrier. Bit i: row first + i has all of its parts.
__device__ __forceinline__ unsigned count_rows(const StepArgs& args, const HandedItem& item,
                                               int first, int count) {
  const int lane = threadIdx.x % 32;
  bool last = false;
  if (lane < count) {
    std::uint32_t* done = args.parts_done + item.split.part_row + first + lane;
    last = ptx::count_up(done) + 1 == static_cast<std::uint32_t>(item.split.parts);
    if (last) *done = 0;
  }
  return __ballot_sync(~0U, last);
}

/// Adds the parts of a row up, all reads of some of them under way together: each takes a trip to
/// L2. By a warp.
template <int kDimV>
__device__ __forceinline__ MergedParts<kDimV> merge_parts(const StepArgs& args, const Parts& parts,
                                                          int row) {
  using Merged = MergedParts<kDimV>;
  constexpr int kBatch = 20 / Merged::kVectors;  // one for each multiprocessor of eight KV heads
  const int lane = threadIdx.x % 32;
  const int count = uniform(parts.count());
  Merged merged;
#pragma unroll 1
  for (int first = 0; first < count; first += kBatch) {
    const int here = min(kBatch, count - first);
    float4 sums[kBatch][Merged::kVectors] = {};
#pragma unroll
    for (int p = 0; p < kBatch; ++p)
#pragma unroll
      for (int i = 0; i < Merged::kVectors; ++i)
        if (p < here && Merged::dim(i) < args.dim_v)
          sums[p][i] = __ldcg(
              reinterpret_cast<const float4*>(parts.sums(args, first + p, row) + Merged::dim(i)));
    float2 stats = make_float2(-INFINITY, 0.0F);
    if (lane < here) stats = parts.stats(args, first + lane, row);
    const float weight = merged.weigh(stats);
#pragma unroll
    for (int p = 0; p < kBatch; ++p) {
      const float own = __shfl_sync(~0U, weight, p);
#pragma unroll
      for (int i = 0; i < Merged::kVectors; ++i) merged.add_to(i, sums[p][i], own);
    }
  }
  return merged;
}

}  // namespace headwise::cuda::sm90
