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

  /// Items that rows are cut into.
  std::int64_t items(std::int64_t rows) const {
    return (rows + rules.wide_rows - 1) / rules.wide_rows;
  }

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

  /// The tiles of all items that rows are cut into.
  std::int64_t of_all_tiles(std::int64_t rows, std::int64_t keys) const {
    const std::int64_t rest = rows % rules.wide_rows;
    return rows / rules.wide_rows * of_tiles(rules.wide_rows, keys) +
           (rest > 0 ? of_tiles(rest, keys) : 0);
  }
};

}  // namespace headwise::cuda
