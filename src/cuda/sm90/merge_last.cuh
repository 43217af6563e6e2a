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
  Merged merged;
#pragma unroll 1
  for (int first = 0; first < parts.count(); first += kBatch) {
    const int here = min(kBatch, parts.count() - first);
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

/// Merges rows first ... first + kRows - 1, as far as their bits are in `rows`, and writes them.
/// Reads of all rows are under way together, the others' of one of them. By a warp.
template <int kDimV, int kRows>
__device__ __noinline__ void merge_rows(const StepArgs& args, const HandedItem& item, int first,
                                        unsigned rows) {
  using Merged = MergedParts<kDimV>;
  constexpr int kBatch = 24 / kRows;  // parts at a time
  const Parts parts{item.split};
  const int lane = threadIdx.x % 32;
  const auto row_of = [&](int r) { return first + ((rows >> r & 1U) != 0 ? r : __ffs(rows) - 1); };
  Merged merged[kRows];
#pragma unroll 1
  for (int begin = 0; begin < parts.count(); begin += 32) {
    const int here = min(32, parts.count() - begin);
    float weight[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float2 stats = parts.stats(args, begin + min(lane, here - 1), row_of(r));
      if (lane >= here) stats = make_float2(-INFINITY, 0.0F);
      weight[r] = merged[r].weigh(stats);
    }
#pragma unroll 1
    for (int p = 0; p < here; p += kBatch) {
      float4 sums[kBatch][kRows][Merged::kVectors];
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
          for (int i = 0; i < Merged::kVectors; ++i)
            sums[b][r][i] = __ldcg(reinterpret_cast<const float4*>(
                parts.sums(args, begin + min(p + b, here - 1), row_of(r)) +
                min(Merged::dim(i), args.dim_v - 4)));
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          // A lane behind the last part has weight 0.
          const float own = __shfl_sync(~0U, weight[r], (p + b) % 32);
#pragma unroll
          for (int i = 0; i < Merged::kVectors; ++i)
            merged[r].add_to(i, sums[b][r][i], p + b < here ? own : 0.0F);
        }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    if ((rows >> r & 1U) != 0) merged[r].store(args, item.view, first + r);
}

}  // namespace headwise::cuda::sm90
