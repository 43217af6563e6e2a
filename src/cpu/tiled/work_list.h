#pragma once

#include <cstdint>
#include <vector>

#include "attention/key_runs.h"

namespace headwise::tiled {

/// What one thread does at a time: the query heads of one KV head, for some new tokens, over some
/// keys.
struct WorkItem {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t token = 0;  ///< first new token, in the request
  std::int32_t tokens = 0;
  std::int64_t slot_begin = 0;  ///< a multiple of the tile's keys
  std::int64_t slot_end = 0;
  std::int64_t part_row =
      -1;  ///< its first row among the partial results; -1: these are all its keys
};

/// Partial results of the same rows, one part behind the other in the order of their keys.
struct SplitRows {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t token = 0;
  std::int32_t tokens = 0;
  std::int64_t first_row = 0;
  std::int32_t parts = 0;
};

struct WorkList {
  std::vector<WorkItem> items;  ///< the most expensive first
  std::vector<SplitRows> splits;
  std::int64_t part_rows = 0;  ///< rows of partial results
};

/// How a step may be cut.
struct CuttingRules {
  int threads = 1;
  int tile_rows = 0;             ///< rows of one item, at most; one token's where that is more
  std::int64_t fixed_split = 0;  ///< keys cut nowhere but at multiples of this; 0: anywhere

  /// Rows of partial results that a list has at most.
  std::int64_t most_part_rows() const { return std::int64_t{8} * threads * tile_rows; }
};

/// Cuts a step into items: rows into tiles, and the keys of an item that would keep one thread busy
/// while others wait into parts.
WorkList make_work_list(const AttentionShape& shape, const StepBatch& step,
                        const std::vector<Request>& requests, const CuttingRules& rules);

}  // namespace headwise::tiled
