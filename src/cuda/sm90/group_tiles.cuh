#pragma once

#include <cstdint>

#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/item_view.cuh"

namespace headwise::cuda::sm90 {

/// Whether largest logits are looked for in every tile (wide_tile.cuh). Which tiles could do
/// without depends on other rows.
template <class Config>
__device__ __forceinline__ bool looks_always(const HandedItem& item) {
  return Config::kInvariant || item.careful;
}

/// The tiles of a warpgroup's rows of an item.
template <class Config>
__device__ __forceinline__ GroupTiles tiles_of_group(const StepArgs& args, const HandedItem& item,
                                                     int group) {
  const ItemView& view = item.view;
  const std::int32_t from = view.range.slot_begin;
  const int all = (view.range.slot_end - from + Config::kKeys - 1) / Config::kKeys;
  const auto up_to = [&](std::int32_t slot) {  // tiles that begin there or before
    return slot < from ? 0 : static_cast<int>((std::int64_t{slot} - from) / Config::kKeys) + 1;
  };
  Visible visible;
  const int row = Config::kSharesRows ? 0 : group * Config::kGroupRows;
  visible.set(args, view, row, row + Config::kGroupRows - 1);
  GroupTiles tiles;
  if constexpr (Config::kSharesRows) {  // every other tile, seen or not: each is somebody's
    tiles.end = all;
    tiles.first = min(all, group);
  } else {
    tiles.end = min(all, up_to(visible.any_last));
    if (visible.any_first > from)
      tiles.first = min(tiles.end, (visible.any_first - from) / Config::kKeys);
  }
  const bool plain =
      !looks_always<Config>(item) && args.softcap == 0.0F && visible.all_last >= from;
  // Tiles before it are not seen as a whole by all rows.
  const int seen_from = visible.all_first <= from ? 0 : up_to(visible.all_first - 1);
  // All rows see the tile that comes before the first plain one, too.
  if (item.backwards) {
    const GroupTiles forwards = tiles;
    tiles.first = all - forwards.end;
    tiles.end = all - forwards.first;
    if (plain) tiles.plain_first = all - (up_to(visible.all_last) - 1);
    if (plain) tiles.plain_end = all - seen_from;
  } else if (plain) {
    tiles.plain_first = seen_from + 1 + (Config::kSharesRows ? 1 : 0);
    tiles.plain_end = static_cast<int>(
        (std::int64_t{min(visible.all_last, view.range.slot_end - 1)} - from + 1) / Config::kKeys);
  }
  return tiles;
}

}  // namespace headwise::cuda::sm90
