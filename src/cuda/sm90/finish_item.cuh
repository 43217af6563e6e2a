#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm90/merge_last.cuh"
#include "cuda/sm90/row_tile.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/part_rows.cuh"

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

/// A row's sums of all key warps.
template <class Config>
__device__ __forceinline__ MergedParts<Config::kDimV> added_up(const float* results) {
  MergedParts<Config::kDimV> row;
  row.reference = results[Config::kDimV];
  row.sum = results[Config::kDimV + 1];
#pragma unroll
  for (int i = 0; i < row.kVectors; ++i)
#pragma unroll
    for (int set = 0; set < Config::kResultSets; ++set)
      if (row.dim(i) < Config::kDimV)
        row.add_to(i,
                   *reinterpret_cast<const float4*>(
                       results + set * Config::kRows * Config::kResultRow + row.dim(i)),
                   1.0F);
  return row;
}

template <class Config>
__device__ __forceinline__ void write_part(const StepArgs& args, const ItemView& view, int row,
                                           const MergedParts<Config::kDimV>& sums) {
  const std::int64_t at = view.item.part_row + row;
  if (threadIdx.x % 32 == 0) args.part_stats[at] = make_float2(sums.reference, sums.sum);
#pragma unroll
  for (int i = 0; i < sums.kVectors; ++i)
    if (sums.dim(i) < args.dim_v)
      *reinterpret_cast<float4*>(args.part_sums + at * args.dim_v + sums.dim(i)) = sums.total[i];
}

/// Writes an item's rows. Little code: it runs once a launch, and instructions have to come from
/// afar.
template <class Config>
__device__ __forceinline__ void finish_item(const StepArgs& args, const RowTile<Config>& tile,
                                            const HandedItem& item,
                                            const SharedLayout<Config>& shared) {
  add_up(tile, shared);
  const int each = (item.view.item.rows + Config::kWarps - 1) / Config::kWarps;
  const int first = static_cast<int>(threadIdx.x) / 32 * each;
  const int count = min(item.view.item.rows - first, each);
  const bool part = item.view.item.part_row >= 0;
  const auto results_of = [&](int row) { return shared.results() + row * Config::kResultRow; };
  unsigned rows = count > 0 ? (1U << count) - 1 : 0;
  if (part) {
#pragma unroll 1
    for (int row = first; row < first + count; ++row)
      write_part<Config>(args, item.view, row, added_up<Config>(results_of(row)));
    __syncwarp();
    rows = item.view.shares_prefix() ? 0 : count_rows(args, item, first, count);
  }
#pragma unroll 1
  for (; rows != 0; rows &= rows - 1) {
    const int row = first + __ffs(rows) - 1;
    MergedParts<Config::kDimV> sums = part
                                          ? merge_parts<Config::kDimV>(args, Parts{item.split}, row)
                                          : added_up<Config>(results_of(row));
    sums.store(args, item.view, row);
  }
}

}  // namespace headwise::cuda::sm90
