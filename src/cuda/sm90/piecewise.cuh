#pragma once

#include <cstdint>

#include "cuda/schedule/work_item.h"
#include "cuda/sm90/item_reader.cuh"
#include "cuda/sm90/row_sums.cuh"
#include "cuda/sm90/wide_tile.cuh"
#include "cuda/step/set_aside.cuh"

namespace headwise::cuda::sm90 {

/// A group's tiles of an item, of which it has some, where a token's bits must not depend on the
/// step: sums begin anew at every multiple of kFixedSplit, and are merged in order, as they are
/// where blocks have a piece each. Returns the rows' statistics, added up over lanes.
template <class Config>
__device__ __forceinline__ RowSums take_in_pieces(const StepArgs& args, WideTile<Config>& tile,
                                                  const GroupItem<Config>& item) {
  static_assert(kFixedSplit % Config::kKeys == 0 && !Config::kSharesRows && !Config::kGoesOn);
  const GroupTiles tiles = item.tiles();
  RowSums before;
#pragma unroll 1
  for (int first = tiles.first; first < tiles.end;) {
    const std::int32_t inside = uniform(item.handed().slot_of(first, Config::kKeys)) % kFixedSplit;
    const int end = min(tiles.end, first + (kFixedSplit - inside) / Config::kKeys);
    const bool follows = first > tiles.first;
    if (follows) {
      set_aside<Config::kThreads>(args, tile.out_, before.reference, before.sum);
      tile.clear_sums();
    }
    tile.begin(item);
    tile.follow_to(item, end);
    before = tile.end();
    before.add_up_lanes();
    if (follows) add_set_aside<Config::kThreads>(args, tile.out_, before.reference, before.sum);
    first = end;
  }
  return before;
}

}  // namespace headwise::cuda::sm90
