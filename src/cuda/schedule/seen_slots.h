#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/mask.h"
#include "cuda/schedule/work_item.h"

namespace headwise::cuda {

/// Leaves out an item's keys that none of its rows sees, by whole tiles at the beginning. Slots are
/// positions, and slot_end is set.
inline void narrow_to_seen(const AttentionShape& shape, int tile, WorkItem& item) {
  const int group = shape.group_size();
  const PositionRange rows{item.q_start + item.row / group,
                           item.q_start + (item.row + item.rows - 1) / group};
  const PositionRange seen = Mask(shape).seen_from(rows);
  item.slot_end =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(seen.last + 1, 0, item.slot_end));
  item.slot_begin = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(seen.first, 0, item.slot_end) / tile * tile);
}

}  // namespace headwise::cuda
