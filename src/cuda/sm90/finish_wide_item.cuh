#pragma once

#include <cstdint>

#include "cuda/sm90/merge_last.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/wide_tile.cuh"
#include "cuda/step/results.cuh"

namespace headwise::cuda::sm90 {

/// Adds the second warpgroup's sums of the same rows to the first one's.
template <class Config>
__device__ __forceinline__ void join_groups(WideTile<Config>& tile,
                                            const SharedLayout<Config>& shared) {
  const bool second = threadIdx.x >= 128;
#pragma unroll
  for (int r = 0; second && r < 2; ++r) {
    auto* to = reinterpret_cast<float2*>(shared.results() + tile.row(r) * Config::kResultRow);
#pragma unroll
    for (int n = 0; n < WideTile<Config>::kDimTiles; ++n)
      to[n * 4 + tile.lane() % 4] = make_float2(tile.out_[0][n][2 * r], tile.out_[0][n][2 * r + 1]);
    to[Config::kDimV / 2] = make_float2(tile.reference_[r], tile.sum_[r]);
  }
  sync_warps<Config>();
#pragma unroll
  for (int r = 0; !second && r < 2; ++r) {
    const auto* from =
        reinterpret_cast<const float2*>(shared.results() + tile.row(r) * Config::kResultRow);
    float2 stats = make_float2(tile.reference_[r], tile.sum_[r]);
    const MergeWeights weights = merge_stats(stats, from[Config::kDimV / 2]);
    tile.reference_[r] = stats.x;
    tile.sum_[r] = stats.y;
#pragma unroll
    for (int n = 0; n < WideTile<Config>::kDimTiles; ++n) {
      const float2 other = from[n * 4 + tile.lane() % 4];
      float(&own)[4] = tile.out_[0][n];
      own[2 * r] = weights.merged(own[2 * r], other.x);
      own[2 * r + 1] = weights.merged(own[2 * r + 1], other.y);
    }
  }
}

/// The lane's columns of its r-th row.
template <class Config>
__device__ __forceinline__ void write_part_of_row(const StepArgs& args, const ItemView& view,
                                                  const WideTile<Config>& tile, int r) {
  const std::int64_t at = view.item.part_row + tile.row(r);
  const int t = tile.lane() % 4;
  if (t == 0) args.part_stats[at] = make_float2(tile.reference_[r], tile.sum_[r]);
  auto* to = reinterpret_cast<float2*>(args.part_sums + at * args.dim_v) + t;
#pragma unroll
  for (int n = 0; n < WideTile<Config>::kDimTiles; ++n)
    if (n * 8 < args.dim_v)
      to[n * 4] = make_float2(tile.out_[0][n][2 * r], tile.out_[0][n][2 * r + 1]);
}

template <class Config>
__device__ __forceinline__ void write_whole_row(const StepArgs& args, const ItemView& view,
                                                const WideTile<Config>& tile, int r) {
  const int t = tile.lane() % 4;
  const RowTarget target =
      finish_whole_row(args, view, tile.row(r), tile.reference_[r], tile.sum_[r], t == 0);
#pragma unroll
  for (int n = 0; n < WideTile<Config>::kDimTiles; ++n)
    store_pair(args, false, target.to, n * 8 + t * 2, tile.out_[0][n][2 * r] * target.factor,
               tile.out_[0][n][2 * r + 1] * target.factor);
}

/// Writes an item's rows.
template <class Config>
__device__ __forceinline__ void finish_wide_item(const StepArgs& args, WideTile<Config>& tile,
                                                 HandedItem& item,
                                                 const SharedLayout<Config>& shared) {
  if constexpr (Config::kSharesRows) join_groups(tile, shared);
  const bool part = item.view.item.part_row >= 0;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if ((Config::kSharesRows && threadIdx.x >= 128) || tile.row(r) >= item.view.item.rows) continue;
    if (part)
      write_part_of_row(args, item.view, tile, r);
    else
      write_whole_row(args, item.view, tile, r);
  }
  if (!part) return;
  sync_warps<Config>();
  constexpr int kEach = Config::kRows / Config::kWarps;  // rows that a warp merges
  constexpr int kAtOnce = 4;
  const int first = static_cast<int>(threadIdx.x) / 32 * kEach;
  const unsigned rows = count_rows(args, item, first, min(item.view.item.rows - first, kEach));
  for (int i = 0; i < kEach; i += kAtOnce)
    if ((rows >> i & 0xfU) != 0)
      merge_rows<Config::kDimV, kAtOnce>(args, item, first + i, rows >> i);
}

}  // namespace headwise::cuda::sm90
