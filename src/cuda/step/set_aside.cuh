#pragma once

#include <cstdint>

#include "cuda/step/results.cuh"
#include "cuda/step_args.h"

namespace headwise::cuda {

// Where keys are cut at fixed places and a block has several parts of its rows, each thread keeps
// its sums over those that are done in the workspace: [blocks, kRowTiles, kDimTiles + 1, threads]
// (aside_bytes.h).

template <int kThreads, int kRowTiles, int kDimTiles>
__device__ __forceinline__ float4* place_aside(const StepArgs& args, int row_tile) {
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kRowTiles + row_tile;
  return args.set_aside + tile * (kDimTiles + 1) * kThreads + threadIdx.x;
}

/// Of a thread's rows r: sums of values in row tile r / 2, the reference, the whole row's sum of
/// probabilities.
template <int kThreads, int kRowTiles, int kDimTiles>
__device__ __forceinline__ void set_aside(const StepArgs& args,
                                          const float (&out)[kRowTiles][kDimTiles][4],
                                          const float (&reference)[2 * kRowTiles],
                                          const float (&sum)[2 * kRowTiles]) {
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    float4* to = place_aside<kThreads, kRowTiles, kDimTiles>(args, m);
#pragma unroll
    for (int n = 0; n < kDimTiles; ++n)
      to[n * kThreads] = make_float4(out[m][n][0], out[m][n][1], out[m][n][2], out[m][n][3]);
    to[kDimTiles * kThreads] =
        make_float4(reference[2 * m], sum[2 * m], reference[2 * m + 1], sum[2 * m + 1]);
  }
}

/// Merges what was set aside with what follows it.
template <int kThreads, int kRowTiles, int kDimTiles>
__device__ __forceinline__ void add_set_aside(const StepArgs& args,
                                              float (&out)[kRowTiles][kDimTiles][4],
                                              float (&reference)[2 * kRowTiles],
                                              float (&sum)[2 * kRowTiles]) {
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    const float4* from = place_aside<kThreads, kRowTiles, kDimTiles>(args, m);
    const float4 both = from[kDimTiles * kThreads];
    float2 stats[2] = {make_float2(both.x, both.y), make_float2(both.z, both.w)};
    MergeWeights weights[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int r = 2 * m + h;
      weights[h] = merge_stats(stats[h], make_float2(reference[r], sum[r]));
      reference[r] = stats[h].x;
      sum[r] = stats[h].y;
    }
#pragma unroll
    for (int n = 0; n < kDimTiles; ++n) {
      if (n % 4 == 0) __syncwarp();  // lest all reads are under way at a time: registers
      const float4 before = from[n * kThreads];
      out[m][n][0] = weights[0].merged(before.x, out[m][n][0]);
      out[m][n][1] = weights[0].merged(before.y, out[m][n][1]);
      out[m][n][2] = weights[1].merged(before.z, out[m][n][2]);
      out[m][n][3] = weights[1].merged(before.w, out[m][n][3]);
    }
  }
}

}  // namespace headwise::cuda
