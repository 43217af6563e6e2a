#pragma once

#include <cstdint>
#include <vector>

#include "cuda/schedule/work_item.h"
#include "headwise/attention_shape.h"
#include "headwise/step_batch.h"

namespace headwise::cuda {

/// How a kernel row wants a step to be cut.
struct CuttingRules {
  int blocks = 1;        ///< that run at the same time
  int narrow_rows = 16;  ///< up to which an item is narrow
  int narrow_keys = 64;  ///< a tile
  int wide_rows = 128;   ///< of an item, at most
  int wide_keys = 64;    ///< a tile
  int most_wide_parts = 64;
  std::int64_t most_part_rows = 0;  ///< rows of partial results
  /// Whether keys outside the rows' windows can be left out beforehand: slots are positions, and
  /// lengths are the host's.
  bool narrows_slots = true;
};

/// A step's items, in the order in which blocks take them.
struct Schedule {
  std::vector<WorkItem> items;
  std::vector<Split> splits;
  std::int64_t part_rows = 0;
};

/// Lays out a step whose q_start is filled in: rows into tiles, contexts that would keep a few
/// blocks busy while others wait into parts, the most expensive items first. `schedule` keeps its
/// memory.
void make_schedule(const AttentionShape& shape, const StepBatch& step, const CuttingRules& rules,
                   Schedule& schedule);

/// Items and splits that any step within these numbers has at most.
struct ScheduleBounds {
  std::int64_t items = 0;
  std::int64_t splits = 0;
};
ScheduleBounds schedule_bounds(const AttentionShape& shape, std::int64_t requests,
                               std::int64_t tokens, const CuttingRules& rules);

}  // namespace headwise::cuda
