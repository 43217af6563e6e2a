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
  std::int32_t part = -1;  ///< where the partial result goes; -1: these are all its keys
};

/// Parts of the same rows, in the order of their keys.
struct SplitRows {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t token = 0;
  std::int32_t tokens = 0;
  std::int32_t first_part = 0;
  std::int32_t parts = 0;
};

struct WorkList {
  std::vector<WorkItem> items;  ///< the most expensive first
  std::vector<SplitRows> splits;

  /// Parts that a list for `threads` can have.
  static std::int64_t max_parts(int threads) { return std::int64_t{8} * threads; }
};

/// Cuts a step into items: rows into tiles of at most `tile_rows`, and the keys of an item that
/// would keep one thread busy while others wait into equal parts.
WorkList make_work_list(const AttentionShape& shape, const StepBatch& step,
                        const std::vector<Request>& requests, int tile_rows, int threads);

}  // namespace headwise::tiled
