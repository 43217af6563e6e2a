#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm90/merge_last.cuh"
#include "cuda/sm90/row_tile.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/results.cuh"

namespace headwise::cuda::sm90 {

/// Adds the key warps' sums up in shared memory, each under its row's largest reference.
template <class Config>
__device__ __forceinline__ void add_up(const RowTile<Config>& tile,
                                       const SharedLayout<Config>& shared) {
  constexpr int kSets = Config::kResultSets;
  float2* stats = shared.stats();
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    const float sum = tile.sum(c);
    if (tile.lane() < 4)
      stats[tile.key_warp() * Config::kRows + tile.row(c)] = make_float2(tile.reference(c), sum);
  }
  sync_warps<Config>();
  float weight[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    float top = -INFINITY;
#pragma unroll
    for (int w = 0; w < Config::kKeyWarps; ++w)
      top = fmaxf(top, stats[w * Config::kRows + tile.row(c)].x);
    float total = 0.0F;
#pragma unroll
    for (int w = 0; w < Config::kKeyWarps; ++w) {
      const float2 own = stats[w * Config::kRows + tile.row(c)];
      total += own.y * (own.x == -INFINITY ? 1.0F : ptx::exp2(own.x - top));
    }
    weight[c] = tile.reference(c) == -INFINITY ? 1.0F : ptx::exp2(tile.reference(c) - top);
    if (tile.lane() < 4 && tile.key_warp() < kSets) {
      float* to =
          shared.results() + (tile.key_warp() * Config::kRows + tile.row(c)) * Config::kResultRow;
      to[Config::kDimV] = top;
      to[Config::kDimV + 1] = tile.key_warp() == 0 ? total : 0.0F;
    }
  }
#pragma unroll
  for (int round = 0; round < Config::kKeyWarps / kSets; ++round) {
    if (tile.key_warp() / kSets == round) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float* to = shared.results() +
                    (tile.key_warp() % kSets * Config::kRows + tile.row(c)) * Config::kResultRow;
#pragma unroll
        for (int m = 0; m < RowTile<Config>::kDimTiles; ++m)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const float own = tile.out(m, h, c) * weight[c];
            float& sum = to[tile.dim(m, h)];
            sum = round == 0 ? own : sum + own;
          }
      }
    }
    sync_warps<Config>();
  }
}

/// Writes an item's rows.
template <class Config>
__device__ __forceinline__ void finish_item(const StepArgs& args, const RowTile<Config>& tile,
                                            HandedItem& item, const SharedLayout<Config>& shared) {
  constexpr int kRow = Config::kResultRow;
  add_up(tile, shared);
  const int rows = item.view.item.rows;
  const int each = (rows + Config::kWarps - 1) / Config::kWarps;
  const int first = static_cast<int>(threadIdx.x) / 32 * each;
  write_rows<Config::kDimV, kRow, Config::kResultSets>(
      args, item.view, first, min(rows - first, each), shared.results() + first * kRow,
      Config::kRows * kRow, tile.lane());
  sync_warps<Config>();
  if (item.view.item.part_row >= 0) merge_if_last<Config>(args, item, shared.is_last());
}

}  // namespace headwise::cuda::sm90
