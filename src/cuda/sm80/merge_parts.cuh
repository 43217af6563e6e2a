#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm80/results.cuh"

namespace headwise::cuda::sm80 {

/// Many reads under way at a time: each takes a trip to L2.
__device__ __forceinline__ float4 weighted_sum(const float4* sums, std::int64_t to_next,
                                               const float* weights, int parts) {
  float4 total = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll 32
  for (int part = 0; part < parts; ++part) {
    const float4 four = __ldcg(sums + part * to_next);
    const float weight = weights[part];
    total.x += weight * four.x;
    total.y += weight * four.y;
    total.z += weight * four.z;
    total.w += weight * four.w;
  }
  return total;
}

/// The last block of a split to arrive merges its parts, in their order. `scratch` is shared memory
/// of rows pointers and rows * parts floats, and `last` a flag there, which nothing else uses.
template <int kThreads>
__device__ void merge_parts_if_last(const StepArgs& args, const ItemView& view, float* scratch,
                                    volatile int* last) {
  auto* targets = reinterpret_cast<char**>(scratch);
  const Split split = args.splits[view.item.split];
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t* counter = args.parts_done + view.item.split;
    *last = ptx::count_up(counter) + 1 == static_cast<std::uint32_t>(split.parts);
    if (*last) *counter = 0;
  }
  __syncthreads();
  if (!*last) return;

  scratch += 2 * view.item.rows;
  ItemView whole = view;
  whole.item.part_row = -1;
  const int rows = view.item.rows;
  const int stride = split.rows;
  const int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < rows; row += kThreads / 32) {
    float top = -INFINITY;
    for (int part = lane; part < split.parts; part += 32)
      top = fmaxf(top, __ldcg(args.part_stats + split.part_row + part * stride + row).x);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0U, top, step));
    float sum = 0.0F;
    for (int part = lane; part < split.parts; part += 32) {
      const float2 stats = __ldcg(args.part_stats + split.part_row + part * stride + row);
      const float weight =
          stats.x == -INFINITY && stats.y == 0.0F ? 0.0F : ptx::exp2(stats.x - top);
      scratch[row * split.parts + part] = weight;
      sum += weight * stats.y;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0U, sum, step);
    const RowTarget target = finish_row(args, whole, row, top, sum, lane == 0);
    __syncwarp();
    for (int part = lane; part < split.parts; part += 32)
      scratch[row * split.parts + part] *= target.factor;
    if (lane == 0) targets[row] = target.to;
  }
  __syncthreads();

  const int columns = args.dim_v % 4 == 0 ? 4 : 1;  // at a time
  const int groups = args.dim_v / columns;
  for (int at = threadIdx.x; at < rows * groups; at += kThreads) {
    const int row = at / groups;
    const int dim = at % groups * columns;
    const float* weights = scratch + row * split.parts;
    const float* sums =
        args.part_sums + static_cast<std::int64_t>(split.part_row + row) * args.dim_v + dim;
    const std::int64_t to_next = static_cast<std::int64_t>(split.rows) * args.dim_v;
    if (columns == 4) {
      const float4 total =
          weighted_sum(reinterpret_cast<const float4*>(sums), to_next / 4, weights, split.parts);
      store_pair(args, false, targets[row], dim, total.x, total.y);
      store_pair(args, false, targets[row], dim + 2, total.z, total.w);
    } else {
      float total = 0.0F;
      for (int part = 0; part < split.parts; ++part)
        total += weights[part] * __ldcg(sums + part * to_next);
      store_one(targets[row], args.out_type, dim, total);
    }
  }
}

}  // namespace headwise::cuda::sm80
