#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm80/results.cuh"

namespace headwise::cuda::sm80 {

/// The last block of a split to arrive merges its parts, in their order. `scratch` is shared memory
/// of rows * parts floats, and `last` a flag there, which nothing else uses any more.
template <int kThreads>
__device__ void merge_parts_if_last(const StepArgs& args, const ItemView& view, float* scratch,
                                    volatile int* last) {
  const Split split = args.splits[view.item.split];
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t* counter = args.parts_done + view.item.split;
    *last = ptx::count_up(counter) + 1 == static_cast<std::uint32_t>(split.parts);
    if (*last) *counter = 0;
  }
  __syncthreads();
  if (!*last) return;

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
    const float factor = finish_row(args, whole, row, top, sum, lane == 0);
    __syncwarp();
    for (int part = lane; part < split.parts; part += 32)
      scratch[row * split.parts + part] *= factor;
  }
  __syncthreads();

  const int pairs = (args.dim_v + 1) / 2;
  for (int at = threadIdx.x; at < rows * pairs; at += kThreads) {
    const int row = at / pairs;
    const int dim = at % pairs * 2;
    const bool two = dim + 1 < args.dim_v;
    float first = 0.0F;
    float second = 0.0F;
#pragma unroll 4
    for (int part = 0; part < split.parts; ++part) {
      const float weight = scratch[row * split.parts + part];
      const float* sums =
          args.part_sums +
          static_cast<std::int64_t>(split.part_row + part * stride + row) * args.dim_v + dim;
      first += weight * __ldcg(sums);
      if (two) second += weight * __ldcg(sums + 1);
    }
    store_columns(args, whole, row, dim, 1.0F, first, second);
  }
}

}  // namespace headwise::cuda::sm80
