#pragma once

#include <cstdint>

#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/sm90/finish_wide_item.cuh"
#include "cuda/sm90/item_scheduler.cuh"
#include "cuda/sm90/key_producer.cuh"
#include "cuda/sm90/query_loader.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/turns.cuh"
#include "cuda/sm90/wide_config.h"
#include "cuda/sm90/wide_tile.cuh"

namespace headwise::cuda::sm90 {

/// What the warpgroups do that take keys: one item after the other, each group at its own pace.
template <class Config>
__device__ __forceinline__ void take_wide_items(const StepArgs& args,
                                                const SharedLayout<Config>& shared) {
  const int group = uniform(static_cast<int>(threadIdx.x) / 128);
  Turns<Config>{group}.begin();
  RingPlace<kItemPlaces> place;
  RingPlace<Config::kQueryTiles> queries;
  RingPlace<Config::kStages> stage;
  for (;;) {
    ptx::mbarrier_wait(shared.item_full(place.index()), place.parity());
    HandedItem& item = shared.item(place.index());
    const std::uint32_t warps = uniform(item.warps);
    if (warps == 0) break;
    const bool wanted =
        Config::kSharesRows || ((warps >> group * 4 & 0xfU) != 0 &&
                                group * Config::kGroupRows < uniform(item.view.item.rows));
    // Also where they are not needed: the loader has to have seen the item.
    ptx::mbarrier_wait(shared.queries_full(queries.index()), queries.parity());
    WideTile<Config> tile(args, shared, item, shared.queries(queries.index()), group);
    tile.take_all(stage, wanted);
    if (wanted) finish_wide_item(args, tile, item, shared.queries(queries.index()), shared);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      ptx::mbarrier_arrive(shared.queries_empty(queries.index()));
      ptx::mbarrier_arrive(shared.item_empty(place.index()));
    }
    place.advance();
    queries.advance();
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
      KeyProducer<Config>(maps, args, shared).run();
    else if (warp == Config::kWarps + 1)
      ItemScheduler<Config>(args, shared).run();
    else
      QueryLoader<Config>(maps, args, shared).run();
  } else {
    ptx::take_registers<Config::kRegisters>();
    take_wide_items(args, shared);
  }
}

}  // namespace headwise::cuda::sm90
