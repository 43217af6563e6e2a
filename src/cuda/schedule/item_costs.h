#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/schedule/schedule.h"

namespace headwise::cuda {

/// How long a block takes, in sixteenths of what it needs for a narrow tile of 64 keys: its time is
/// that of reading them, a full wide tile's (64 keys, too) that of its products.
struct ItemCosts {
  static constexpr std::int64_t kNarrowTile = 16;
  static constexpr std::int64_t kOverhead = 32;  ///< of an item: filling the pipeline, results

  const CuttingRules& rules;

  bool is_narrow(std::int64_t rows) const { return rows <= rules.narrow_rows; }

  /// An item's tiles.
  std::int64_t of_tiles(std::int64_t rows, std::int64_t keys) const {
    if (is_narrow(rows)) return keys * kNarrowTile / 64;
    // Warps without rows leave the products' units to other blocks, but not their time for the
    // rest.
    const std::int64_t full = rules.wide_tile_cost * keys / 64;
    return std::max(full / 2, full * rows / rules.wide_rows);
  }

  std::int64_t of(const WorkItem& item) const {
    return kOverhead + of_tiles(item.rows, item.slot_end - item.slot_begin);
  }
};

}  // namespace headwise::cuda
