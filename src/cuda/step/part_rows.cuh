#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/results.cuh"

namespace headwise::cuda {

/// Where the parts of a split's rows lie, those of a shared prefix first.
struct Parts {
  Split split;

  __device__ int count() const { return split.prefix_parts + split.parts; }
  __device__ std::int64_t row_of(int part, int row) const {
    const int own = part - split.prefix_parts;
    return row + (own < 0 ? split.prefix_row + static_cast<std::int64_t>(part) * split.prefix_rows
                          : split.part_row + static_cast<std::int64_t>(own) * split.rows);
  }
  __device__ float2 stats(const StepArgs& args, int part, int row) const {
    return __ldcg(args.part_stats + row_of(part, row));
  }
  __device__ const float* sums(const StepArgs& args, int part, int row) const {
    return args.part_sums + row_of(part, row) * args.dim_v;
  }
};

template <int kCount>
__device__ __forceinline__ void scale(float4 (&numbers)[kCount], float by) {
#pragma unroll
  for (float4& four : numbers) {
    four.x *= by;
    four.y *= by;
    four.z *= by;
    four.w *= by;
  }
}

/// A row's sums over some of its parts, in their order, as a warp holds them: of each lane every
/// 32nd four columns.
template <int kDimV>
struct MergedParts {
  static constexpr int kVectors = (kDimV + 127) / 128;
  float reference = -INFINITY;
  float sum = 0.0F;
  float4 total[kVectors] = {};

  __device__ __forceinline__ static int dim(int i) { return (threadIdx.x % 32 + 32 * i) * 4; }

  __device__ __forceinline__ void add(const StepArgs& args, const Parts& parts, int begin, int end,
                                      int row) {
    for (int first = begin; first < end; first += 32) {
      const int here = min(32, end - first);
      const int lane = threadIdx.x % 32;
      float2 stats = make_float2(-INFINITY, 0.0F);
      if (lane < here) stats = parts.stats(args, first + lane, row);
      const float weight = weigh(stats);
#pragma unroll 16  // reads under way at a time: each takes a trip to L2
      for (int part = 0; part < here; ++part)
        add_weighted(args, parts.sums(args, first + part, row), __shfl_sync(~0U, weight, part));
    }
  }

  /// Takes the statistics of up to 32 more parts in, a lane each; returns what its part's sums
  /// count.
  __device__ __forceinline__ float weigh(float2 stats) {
    float top = fmaxf(reference, stats.x);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0U, top, step));
    const bool empty = stats.x == -INFINITY && stats.y == 0.0F;
    const float weight = empty ? 0.0F : ptx::exp2(stats.x - top);
    float added = weight * stats.y;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) added += __shfl_xor_sync(~0U, added, step);
    const float before = reference == top ? 1.0F : ptx::exp2(reference - top);
    reference = top;
    sum = sum * before + added;
    scale(total, before);
    return weight;
  }

  __device__ __forceinline__ void add_weighted(const StepArgs& args, const float* sums,
                                               float weight) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (dim(i) >= args.dim_v) continue;
      add_to(i, __ldcg(reinterpret_cast<const float4*>(sums + dim(i))), weight);
    }
  }

  __device__ __forceinline__ void add_to(int i, const float4& four, float weight) {
    total[i].x += weight * four.x;
    total[i].y += weight * four.y;
    total[i].z += weight * four.z;
    total[i].w += weight * four.w;
  }

  __device__ __forceinline__ void store(const StepArgs& args, const ItemView& view, int row) {
    const RowTarget target =
        finish_whole_row(args, view, row, reference, sum, threadIdx.x % 32 == 0);
    scale(total, target.factor);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      store_pair(args, false, target.to, dim(i), total[i].x, total[i].y);
      store_pair(args, false, target.to, dim(i) + 2, total[i].z, total[i].w);
    }
  }
};

/// Merges a row's parts. Called by a warp.
template <int kDimV>
__device__ void merge_row(const StepArgs& args, const ItemView& view, const Parts& parts, int row) {
  MergedParts<kDimV> merged;
  merged.add(args, parts, 0, parts.count(), row);
  merged.store(args, view, row);
}

/// The same a number at a time and part after part, as a block does it that has several: a token's
/// bits do not depend on who computed its parts. Also where rows are no multiples of four.
/// `kAtATime`: parts whose reads are under way together.
template <int kDimV, int kAtATime>
__device__ void merge_row_in_order(const StepArgs& args, const ItemView& view, const Parts& parts,
                                   int row) {
  const int lane = threadIdx.x % 32;
  float2 stats = make_float2(-INFINITY, 0.0F);
  float total[kDimV / 32] = {};
#pragma unroll 1
  for (int first = 0; first < parts.count(); first += kAtATime) {
    float2 added[kAtATime];
    float sums[kAtATime][kDimV / 32] = {};
#pragma unroll
    for (int p = 0; p < kAtATime; ++p) {
      added[p] = make_float2(-INFINITY, 0.0F);
      if (first + p >= parts.count()) continue;
      added[p] = parts.stats(args, first + p, row);
#pragma unroll
      for (int i = 0; i < kDimV / 32; ++i)
        if (lane + 32 * i < args.dim_v)
          sums[p][i] = __ldcg(parts.sums(args, first + p, row) + lane + 32 * i);
    }
#pragma unroll
    for (int p = 0; p < kAtATime; ++p) {
      const MergeWeights weights = merge_stats(stats, added[p]);
#pragma unroll
      for (int i = 0; i < kDimV / 32; ++i) total[i] = weights.merged(total[i], sums[p][i]);
    }
  }
  const RowTarget target = finish_whole_row(args, view, row, stats.x, stats.y, lane == 0);
#pragma unroll
  for (int i = 0; i < kDimV / 32; ++i)
    if (lane + 32 * i < args.dim_v)
      store_one(target.to, args.out_type, lane + 32 * i, fmaf(target.factor, total[i], 0.0F));
}

}  // namespace headwise::cuda
