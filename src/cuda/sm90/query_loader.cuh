#pragma once

#include <cstdint>

#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/tensor_maps.h"
#include "cuda/step/queries.cuh"
#include "cuda/tile/box_tile.cuh"

namespace headwise::cuda::sm90 {

/// The warp that brings the items' queries, a tile ahead of those that take keys.
template <class Config>
class QueryLoader {
 public:
  __device__ __forceinline__ QueryLoader(const TensorMaps& maps, const StepArgs& args,
                                         const SharedLayout<Config>& shared)
      : maps_(maps),
        args_(args),
        shared_(shared),
        thread_(threadIdx.x - (Config::kBlockThreads - kThreads)) {}

  __device__ __forceinline__ void run() {
    ptx::wait_for_launches_before();
    RingPlace<kItemPlaces> place;
    RingPlace<Config::kQueryTiles> tile;
    for (;;) {
      ptx::mbarrier_wait(shared_.item_full(place.index()), place.parity());
      const HandedItem& item = shared_.item(place.index());
      if (item.is_end) break;
      ptx::mbarrier_wait(shared_.queries_empty(tile.index()), tile.parity() ^ 1);
      const std::uint32_t full = shared_.queries_full(tile.index());
      if (in_a_box(item.view)) {
        copy_box(item.view, shared_.queries(tile.index()), full);
      } else {
        load(item.view, {shared_.queries(tile.index())});
        ptx::fence_before_copies();  // wgmma reads q as copies do
        ptx::mbarrier_arrive(full);
      }
      place.advance();
      tile.advance();
    }
  }

 private:
  static constexpr int kThreads = Config::kLoaders;
  using Tile = BoxTile<Config::kRows>;

  /// Whether the item's rows are whole tokens and the tile can be filled: copies of a box do not
  /// stop at the step's last token, but what follows the item's rows there does not matter.
  __device__ __forceinline__ bool in_a_box(const ItemView& view) const {
    const int group = static_cast<int>(args_.group.divisor);
    return maps_.query_tokens > 0 && view.item.q_len * group - view.item.row >= Config::kRows &&
           !view.shares_prefix() && view.head_of(args_, 0) == view.item.kv_head * group;
  }

  __device__ __forceinline__ void copy_box(const ItemView& view, std::uint32_t to,
                                           std::uint32_t full) const {
    if (thread_ != 0) return ptx::mbarrier_arrive(full);
    ptx::mbarrier_expect(full, Config::kQueryBytes);
    ptx::fence_before_copies();  // results may have been written there
    const int head = view.head_of(args_, 0);
    const auto token = static_cast<int>(view.step_token_of(args_, 0));
#pragma unroll
    for (int box = 0; box < Config::kKBoxes; ++box)
      ptx::copy_box(to + box * Config::kRows * 128, &maps_.q, full, box * 64, head, token, 0);
  }

  /// Of the groups that have rows.
  __device__ __forceinline__ static int groups_rows(const ItemView& view) {
    constexpr int kEach = Config::kGroupRows;
    return (view.item.rows + kEach - 1) / kEach * kEach;
  }

  __device__ __forceinline__ void load(const ItemView& view, const Tile& tile) const {
    if (!args_.q_chunks) return load_pairs(view, tile);
    const int chunk = thread_ % 8;
    const int rows = groups_rows(view);
#pragma unroll 2
    for (int row = thread_ / 8; row < rows; row += kThreads / 8) {
      const std::int64_t offset = offset_of_queries(args_, view, row);
#pragma unroll
      for (int box = 0; box < Config::kKBoxes; ++box) {
        const int at = (box * 8 + chunk) * 8;
        ptx::cp_async_16(tile.chunk(row, box * 8 + chunk), args_.q + offset + at,
                         static_cast<int>(offset >> 32), at >= args_.dim_qk);
      }
    }
    ptx::cp_async_wait_all();
  }

  /// Where rows do not lie in whole chunks, or signs change.
  __device__ __forceinline__ void load_pairs(const ItemView& view, const Tile& tile) const {
    const int rows = groups_rows(view);
#pragma unroll 1
    for (int row = thread_ / 32; row < rows; row += kThreads / 32) {
      const std::int64_t offset = offset_of_queries(args_, view, row);
#pragma unroll
      for (int i = 0; i < Config::kDimQk / 64; ++i) {
        const int pair = thread_ % 32 + 32 * i;
        const std::uint32_t two = offset < 0 ? 0 : load_pair(args_, args_.q + offset, 2 * pair);
        ptx::store_shared_32(tile.chunk(row, pair / 4) + pair % 4 * 4, two);
      }
    }
  }

  const TensorMaps& maps_;
  const StepArgs& args_;
  const SharedLayout<Config>& shared_;
  const int thread_;
};

}  // namespace headwise::cuda::sm90
