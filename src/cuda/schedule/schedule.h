#pragma once

#include <cstdint>
#include <vector>

#include "cuda/schedule/prefix_bundles.h"
#include "cuda/schedule/work_item.h"
#include "headwise/attention_shape.h"
#include "headwise/step_batch.h"

namespace headwise::cuda {

/// How a kernel row wants a step to be cut.
struct CuttingRules {
  int blocks = 1;                   ///< that run at the same time
  int narrow_rows = 16;             ///< up to which an item is narrow
  int narrow_keys = 64;             ///< a tile
  int wide_rows = 128;              ///< of an item, at most
  int wide_keys = 64;               ///< a tile
  int wide_tile_cost = 28;          ///< item_costs.h
  int most_wide_parts = 192;        ///< of wide_rows rows; of fewer rows as many more
  std::int64_t most_part_rows = 0;  ///< rows of partial results
  /// Rows are cut at multiples of this alone, if it is positive, so that what is left over falls to
  /// the first rows of a request, which see fewest keys where later ones are masked.
  int short_first = 0;
  /// Whether keys outside the rows' windows can be left out beforehand: slots are positions, and
  /// lengths are the host's.
  bool narrows_slots = true;
  /// Keys are cut at multiples of this alone: the order of a row's sums does not depend on the
  /// step. 0: cut where it pays.
  std::int32_t fixed_split = 0;
};

/// A step's items, in the order in which blocks take them.
struct Schedule {
  std::vector<WorkItem> items;
  std::vector<Split> splits;
  std::vector<SharedToken> shared_tokens;  ///< of a launch that reads prefixes
  std::vector<std::int32_t>
      block_begin;  ///< shares: each block's first item, and their end; else empty
  std::int64_t part_rows = 0;
};

/// Lays out a step whose q_start is filled in: rows into tiles, contexts that would keep a few
/// blocks busy while others wait into parts, the most expensive items first. `prefixes`: what
/// another launch has left to be merged, each row of it as a part. `schedule` keeps its memory.
void make_schedule(const AttentionShape& shape, const StepBatch& step, const CuttingRules& rules,
                   Schedule& schedule, const PrefixBundles& prefixes = {});

/// Items and splits that any step within these numbers has at most.
struct ScheduleBounds {
  std::int64_t items = 0;
  std::int64_t splits = 0;
  std::int64_t shared_tokens = 0;
  std::int64_t blocks = 0;     ///< that have shares
  std::int64_t part_rows = 0;  ///< shares: counted each by itself
};
ScheduleBounds schedule_bounds(const AttentionShape& shape, std::int64_t requests,
                               std::int64_t tokens, const CuttingRules& rules);

}  // namespace headwise::cuda
