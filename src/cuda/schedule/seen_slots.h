#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/mask.h"
#include "cuda/schedule/work_item.h"

namespace headwise::cuda {

/// Leaves out keys that no row of an item sees. Slots are positions. Made once a step: divisions
/// take longer than all else here.
class SeenSlots {
 public:
  explicit SeenSlots(const AttentionShape& shape) : mask_(shape), group_(shape.group_size()) {}

  /// By whole tiles, of `tile` keys, at the beginning. slot_end is set.
  void narrow(WorkItem& item, std::int32_t tile) const {
    const std::int64_t last = item.q_start + (item.row + item.rows - 1) / group_;
    const std::int64_t first = mask_.left < 0 ? last : item.q_start + item.row / group_;
    const PositionRange seen = mask_.seen_from(PositionRange{first, last});
    item.slot_end =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(seen.last + 1, 0, item.slot_end));
    item.slot_begin =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(seen.first, 0, item.slot_end));
    if (item.slot_begin > 0) item.slot_begin -= item.slot_begin % tile;
  }

 private:
  Mask mask_;
  std::int32_t group_;
};

}  // namespace headwise::cuda
