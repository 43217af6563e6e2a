#pragma once

#include <cstdint>

#include "cuda/schedule/schedule.h"
#include "headwise/attention_shape.h"
#include "headwise/plan.h"
#include "headwise/step_batch.h"

namespace headwise::cuda {

/// How a kernel without a queue wants a step to be cut: every block has a share of its own.
struct ShareRules {
  int blocks = 1;  ///< that run at the same time
  int rows = 8;    ///< of an item, at most
  int keys = 64;   ///< a tile; a power of two
  // In quarters of a tile:
  int item_cost = 1;          ///< beginning and ending an item, while the next one's keys come
  int part_cost = 12;         ///< what a part costs beyond that: its results are merged
  bool narrows_slots = true;  ///< as CuttingRules has it
  /// Rows that follow shared prefixes, at most, times KV heads.
  std::int64_t following_rows = 0;

  /// Rows of partial results that a step has at most: of what a block begins with and ends with,
  /// and of what follows a prefix.
  std::int64_t most_part_rows() const { return std::int64_t{2} * blocks * rows + following_rows; }
};

/// Lays out a step whose q_start is filled in: its keys, request after request and KV head after KV
/// head, as one run that is cut into shares which cost the same. Where a request's rows are several
/// items, a team of so many blocks has the share, an item's rows each: they read the same keys at
/// the same time, from L2 all but once. Blocks behind the last share have none. `prefixes`: as
/// make_schedule() has it. `schedule` keeps its memory.
void make_shares(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
                 Schedule& schedule, const PrefixBundles& prefixes = {});

/// Blocks of a team: the items that the rows of the request with most of them are, or 1 if there
/// are not so many blocks.
int team_size(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules);

/// Of `rules.blocks` as many as any step within the capacity gives shares: those without one have
/// to come and go before a launch is complete.
int most_blocks(const AttentionShape& shape, const Capacity& capacity, const ShareRules& rules);

ScheduleBounds share_bounds(const AttentionShape& shape, std::int64_t requests, std::int64_t tokens,
                            const ShareRules& rules);

}  // namespace headwise::cuda
