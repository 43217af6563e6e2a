#pragma once

#include <cstdint>

#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/tile/box_tile.cuh"

namespace headwise::cuda::sm90 {

/// The warps that bring the items' queries, a tile ahead of those that take keys.
template <class Config>
class QueryLoader {
 public:
  __device__ __forceinline__ QueryLoader(const StepArgs& args, const SharedLayout<Config>& shared)
      : args_(args), shared_(shared), thread_(threadIdx.x - (Config::kBlockThreads - kThreads)) {}

  __device__ __forceinline__ void run() {
    ptx::wait_for_launches_before();
    RingPlace<kItemPlaces> place;
    RingPlace<Config::kQueryTiles> tile;
    for (;;) {
      ptx::mbarrier_wait(shared_.item_full(place.index()), place.parity());
      const HandedItem& item = shared_.item(place.index());
      if (item.warps == 0) break;
      ptx::mbarrier_wait(shared_.queries_empty(tile.index()), tile.parity() ^ 1);
      load(item.view, {shared_.queries(tile.index())});
      ptx::fence_before_copies();  // wgmma reads q as copies do
      ptx::mbarrier_arrive(shared_.queries_full(tile.index()));
      place.advance();
      tile.advance();
    }
  }

 private:
  static constexpr int kThreads = Config::kLoaders;
  using Tile = BoxTile<Config::kRows>;

  __device__ __forceinline__ void load(const ItemView& view, const Tile& tile) const {
    if (!args_.q_chunks) return load_pairs(view, tile);
    const int chunk = thread_ % 8;
#pragma unroll 2
    for (int row = thread_ / 8; row < Config::kRows; row += kThreads / 8) {
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
#pragma unroll 1
    for (int row = thread_ / 32; row < Config::kRows; row += kThreads / 32) {
      const std::int64_t offset = offset_of_queries(args_, view, row);
#pragma unroll
      for (int i = 0; i < Config::kDimQk / 64; ++i) {
        const int pair = thread_ % 32 + 32 * i;
        const std::uint32_t two = offset < 0 ? 0 : load_pair(args_, args_.q + offset, 2 * pair);
        ptx::store_shared_32(tile.chunk(row, pair / 4) + pair % 4 * 4, two);
      }
    }
  }

  const StepArgs& args_;
  const SharedLayout<Config>& shared_;
  const int thread_;
};

}  // namespace headwise::cuda::sm90
