#pragma once

#include <cstdint>

#include "cuda/sm90/group_tiles.cuh"
#include "cuda/sm90/merge_together.cuh"
#include "cuda/sm90/row_sums.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/wide_tile.cuh"
#include "cuda/step/results.cuh"
#include "cuda/tile/box_tile.cuh"

namespace headwise::cuda::sm90 {

/// A number of O from its sum. Of rows whose bits are their own never -0, which depends on whether
/// parts were merged.
template <class Config>
__device__ __forceinline__ float finished(float sum, float factor) {
  return Config::kInvariant ? fmaf(factor, sum, 0.0F) : sum * factor;
}

/// Whether a row of the warp left the range of its reference, which nobody has looked for in every
/// tile.
template <class Config>
__device__ __forceinline__ bool left_range(const HandedItem& item, const WideTile<Config>& tile,
                                           const RowSums& sums) {
  bool here = false;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    bool fits = sums.reference[r] > -INFINITY ? sums.sum[r] <= kMostSum : sums.sum[r] == 0.0F;
    // An infinite probability makes infinity or NaN of all columns.
    if (Config::kFormat == KvFormat::f16) fits = fabsf(tile.out_[0][0][2 * r]) < INFINITY;
    here = here || (tile.row(r) < item.view.item.rows && !fits);
  }
  return !looks_always<Config>(item) && uniform(__ballot_sync(~0U, here)) != 0;
}

/// Adds the second warpgroup's sums of the same rows to the first one's.
template <class Config>
__device__ __forceinline__ void join_groups(WideTile<Config>& tile, RowSums& sums,
                                            const SharedLayout<Config>& shared) {
  const bool second = tile.group() == 1;
#pragma unroll
  for (int r = 0; second && r < 2; ++r) {
    auto* to = reinterpret_cast<float2*>(shared.results() + tile.row(r) * Config::kResultRow);
#pragma unroll
    for (int n = 0; n < WideTile<Config>::kDimTiles; ++n)
      to[n * 4 + tile.lane() % 4] = make_float2(tile.out_[0][n][2 * r], tile.out_[0][n][2 * r + 1]);
    to[Config::kDimV / 2] = make_float2(sums.reference[r], sums.sum[r]);
  }
  sync_warps<Config>();
#pragma unroll
  for (int r = 0; !second && r < 2; ++r) {
    const auto* from =
        reinterpret_cast<const float2*>(shared.results() + tile.row(r) * Config::kResultRow);
    float2 stats = make_float2(sums.reference[r], sums.sum[r]);
    const MergeWeights weights = merge_stats(stats, from[Config::kDimV / 2]);
    sums.reference[r] = stats.x;
    sums.sum[r] = stats.y;
#pragma unroll
    for (int n = 0; n < WideTile<Config>::kDimTiles; ++n) {
      const float2 other = from[n * 4 + tile.lane() % 4];
      float(&own)[4] = tile.out_[0][n];
      own[2 * r] = weights.merged(own[2 * r], other.x);
      own[2 * r + 1] = weights.merged(own[2 * r + 1], other.y);
    }
  }
  sync_warps<Config>();  // before the next item's results come
}

/// The lane's columns of its r-th row.
template <class Config>
__device__ __forceinline__ void write_part_of_row(const StepArgs& args, const ItemView& view,
                                                  const WideTile<Config>& tile, const RowSums& sums,
                                                  int r) {
  const std::int64_t at = view.item.part_row + tile.row(r);
  const int t = tile.lane() % 4;
  if (t == 0) args.part_stats[at] = make_float2(sums.reference[r], sums.sum[r]);
  auto* to = reinterpret_cast<float2*>(args.part_sums + at * args.dim_v) + t;
#pragma unroll
  for (int n = 0; n < WideTile<Config>::kDimTiles; ++n)
    if (n * 8 < args.dim_v)
      to[n * 4] = make_float2(tile.out_[0][n][2 * r], tile.out_[0][n][2 * r + 1]);
}

/// The warp's rows by way of shared memory, where rows of out are whole chunks of 16 bytes: a lane
/// stores chunks, not pairs.
template <class Config>
__device__ __forceinline__ void write_chunks(const WideTile<Config>& tile, std::uint32_t staging,
                                             const RowTarget (&targets)[2], bool bf16, int rows) {
  constexpr int kAtOnce = Config::kRowsAtOnce;
  const BoxTile<Config::kWarps * kAtOnce> staged{staging};
  const int lane = tile.lane();
  const int first_row = tile.warp_row();
  const int place = first_row * kAtOnce / 16;
#pragma unroll
  for (int done = 0; done < 16; done += kAtOnce) {
    __syncwarp();
#pragma unroll
    for (int r = done / 8; r < (done + kAtOnce) / 8; ++r)
#pragma unroll
      for (int n = 0; n < WideTile<Config>::kDimTiles; ++n) {
        const float first = finished<Config>(tile.out_[0][n][2 * r], targets[r].factor);
        const float second = finished<Config>(tile.out_[0][n][2 * r + 1], targets[r].factor);
        ptx::store_shared_32(staged.chunk(place + r * 8 - done + lane / 4, n) + lane % 4 * 4,
                             bf16 ? ptx::pack_bf16(first, second) : ptx::pack_f16(first, second));
      }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kAtOnce; i += 4) {  // four rows at a time, eight lanes each
      const int row = i + lane / 8;
      const auto to = reinterpret_cast<long long>(targets[(done + i) / 8].to);
      auto* target = reinterpret_cast<int4*>(__shfl_sync(~0U, to, row % 8 * 4));
      if (first_row + done + row >= rows) continue;
#pragma unroll
      for (int box = 0; box < Config::kVBoxes; ++box)
        target[box * 8 + lane % 8] =
            ptx::load_shared_128(staged.chunk(place + row, box * 8 + lane % 8));
    }
  }
}

/// Writes the warp's rows, no part of a split.
template <class Config>
__device__ __forceinline__ void write_whole_rows(const StepArgs& args, const ItemView& view,
                                                 const WideTile<Config>& tile, const RowSums& sums,
                                                 std::uint32_t staging) {
  const int rows = view.item.rows;
  const int t = tile.lane() % 4;
  RowTarget targets[2] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r)
    if (tile.row(r) < rows)
      targets[r] =
          finish_whole_row(args, view, tile.row(r), sums.reference[r], sums.sum[r], t == 0);
  if (args.out_chunks && args.dim_v == Config::kDimV)
    return write_chunks(tile, staging, targets, args.out_type == OutType::bf16, rows);
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int n = 0; tile.row(r) < rows && n < WideTile<Config>::kDimTiles; ++n)
      store_pair(args, false, targets[r].to, n * 8 + t * 2,
                 finished<Config>(tile.out_[0][n][2 * r], targets[r].factor),
                 finished<Config>(tile.out_[0][n][2 * r + 1], targets[r].factor));
}

/// Writes a warp's rows of an item, or says that they left their range.
template <class Config>
__device__ __forceinline__ void finish_wide_item(const StepArgs& args, WideTile<Config>& tile,
                                                 RowSums sums, const GroupItem<Config>& of_group,
                                                 const SharedLayout<Config>& shared) {
  HandedItem& item = of_group.handed();
  if constexpr (!Config::kInvariant) sums.add_up_lanes();
  if constexpr (Config::kSharesRows) {
    join_groups(tile, sums, shared);
    if (tile.group() == 1) return;
  }
  const unsigned own = 1U << uniform(threadIdx.x / 32);
  const int first = uniform(tile.warp_row());
  const int rows = min(uniform(item.view.item.rows) - first, 16);
  if (rows <= 0 || (uniform(item.warps) & own) == 0) return;
  if (left_range(item, tile, sums)) {
    if (tile.lane() == 0) {
      atomicOr(&item.failed, own);
      atomicAdd(args.repeated_rows, static_cast<unsigned long long>(rows));
    }
  } else if (uniform(item.view.item.part_row) < 0) {
    write_whole_rows(args, item.view, tile, sums,
                     Config::kResultsInQueries ? of_group.all_queries() : shared.result_rows());
  } else {
#pragma unroll
    for (int r = 0; r < 2; ++r)
      if (tile.row(r) < item.view.item.rows) write_part_of_row(args, item.view, tile, sums, r);
    if (uniform(item.view.item.is_prefix) == 0) merge_together<Config>(args, item, first, rows);
  }
}

}  // namespace headwise::cuda::sm90
