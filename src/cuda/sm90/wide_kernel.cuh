#pragma once

#include <cstdint>

#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/sm90/finish_wide_item.cuh"
#include "cuda/sm90/item_scheduler.cuh"
#include "cuda/sm90/key_producer.cuh"
#include "cuda/sm90/piecewise.cuh"
#include "cuda/sm90/query_loader.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/turns.cuh"
#include "cuda/sm90/wide_config.h"
#include "cuda/sm90/wide_tile.cuh"

namespace headwise::cuda::sm90 {

/// Whether the group can begin an item while the place of a tile `behind` tiles back is not free.
template <class Config>
__device__ __forceinline__ bool can_begin(const GroupItem<Config>& item, int behind) {
  if (item.is_end() || !item.is_wanted()) return false;
  const GroupTiles tiles = item.tiles();
  return tiles.first < tiles.end && behind + tiles.first < Config::kStages;
}

/// What the warpgroups do that take keys: one item after the other, each group at its own pace.
template <class Config>
__device__ __forceinline__ void take_wide_items(const StepArgs& args,
                                                const SharedLayout<Config>& shared) {
  const int group = uniform(static_cast<int>(threadIdx.x) / 128);
  Turns<Config>{group}.begin();
  WideTile<Config> tile(args, shared, group);
  GroupItem<Config> item(shared, group);
  for (item.await(); !item.is_end(); item.await()) {
    const bool wanted = item.is_wanted();
    RowSums sums;
    bool left = false;
    bool goes_on = false;
    if (!tile.has_begun()) item.await_queries();
    const GroupTiles tiles = item.tiles();
    const bool has_tiles = wanted && tiles.first < tiles.end;
    if constexpr (Config::kInvariant) {
      if (has_tiles) sums = take_in_pieces(args, tile, item);
    } else if (has_tiles) {
      if (!tile.has_begun()) tile.begin(item);
      tile.follow_all(item);
    }
    if constexpr (!Config::kResultsInQueries) item.release_queries();
    if (has_tiles && !Config::kInvariant) {
      // The last tile's place is not free before its values are multiplied: the others must do.
      const int behind = item.count_tiles() - tiles.end + 1;
      if (Config::kGoesOn && behind < Config::kStages) {
        tile.leave(item);
        left = true;
        GroupItem<Config> next = item;
        next.advance();
        next.await();
        goes_on = can_begin(next, behind);
        if (goes_on) {
          next.await_queries();
          sums = tile.end_beside(next);
        }
      }
      if (!goes_on) sums = tile.end();
    }
    if (!left) tile.leave(item);
    if (wanted) finish_wide_item(args, tile, sums, item, shared);
    tile.clear_sums();
    if constexpr (Config::kResultsInQueries) item.release_queries();
    item.release();
    item.advance();
  }
}

/// Items of many query rows: a block's share, or what it takes from the queue.
template <class Config>
__global__ void __launch_bounds__(Config::kBlockThreads, 1)
    attend_wide(const __grid_constant__ TensorMaps maps, const __grid_constant__ StepArgs args) {
  extern __shared__ __align__(1024) char memory[];
  const SharedLayout<Config> shared{memory};
  if (threadIdx.x == 0) {
    ptx::let_next_launch_begin();
    shared.init_barriers();
  }
  __syncthreads();
  const int warp = uniform(static_cast<int>(threadIdx.x) / 32);
  if (warp >= Config::kWarps) {
    ptx::give_registers<Config::kProducerRegisters>();
    if (warp == Config::kWarps)
      KeyProducer<Config, Brings::keys>(maps, args, shared).run();
    else if (warp == Config::kWarps + 1)
      KeyProducer<Config, Brings::values>(maps, args, shared).run();
    else if (warp == Config::kWarps + 2)
      ItemScheduler<Config>(args, shared).run();
    else
      QueryLoader<Config>(maps, args, shared).run();
  } else {
    ptx::take_registers<Config::kRegisters>();
    take_wide_items(args, shared);
  }
}

}  // namespace headwise::cuda::sm90
