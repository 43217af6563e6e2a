#include "cuda/sm90/step_cutting.h"

#include <algorithm>
#include <cstddef>

namespace headwise::cuda::sm90 {
namespace {

/// Whether shares end together and read keys once: one item for each request and KV head, or for
/// each the same number of them over many more cached keys than new ones. Others go into a queue.
bool suits_shares(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules) {
  const int team = team_size(shape, step, rules);
  const std::int64_t most = std::int64_t{team} * rules.rows;
  constexpr int kMostOfTeam = 16;
  if (team > kMostOfTeam || rules.blocks % team * 10 > rules.blocks) return false;
  for (std::size_t r = 0; r < step.q_lens.size(); ++r) {
    const std::int64_t rows = std::int64_t{step.q_lens[r]} * shape.group_size();
    if (rows > most) return false;
    if (team == 1 || rows == 0) continue;
    if (rows <= most - rules.rows || step.kv_lens[r] < std::int64_t{4} * step.q_lens[r])
      return false;
  }
  return true;
}

/// Costs by measurement.
ShareRules share_rules_for(const KernelRow& row, const Problem& problem, int blocks) {
  constexpr std::int64_t kItemBytes = 60 * 1024;  // that are read while an item ends and begins
  const AttentionShape& shape = problem.shape;
  const std::int64_t tile_bytes =
      row.keys * std::int64_t{shape.head_dim_qk + shape.head_dim_v} * size_of(shape.kv_type);
  ShareRules rules{.blocks = blocks, .rows = row.rows, .keys = row.keys};
  rules.item_cost = static_cast<int>(4 * kItemBytes / tile_bytes);
  if (is_8_bit(row.format)) rules.part_cost *= 2;
  if (row.rows > kMostNarrowRows) rules.part_cost = 20;
  if (rows_of(problem) <= row.rows)
    rules.blocks = most_blocks(problem.shape, problem.extent, rules);
  return rules;
}

CuttingRules queue_rules_for(const KernelRow& row, int blocks) {
  return {.blocks = blocks,
          .narrow_rows = 64,
          .narrow_keys = row.keys,
          .wide_rows = row.rows,
          .wide_keys = row.keys,
          .wide_tile_cost = 20,
          .most_part_rows = std::int64_t{2} * blocks * row.rows,
          .short_first = 64,
          .fixed_split = row.invariant ? kFixedSplit : 0};
}

}  // namespace

std::int64_t rows_of(const Problem& problem) {
  return std::int64_t{problem.extent.q_len} * problem.shape.group_size();
}

ShareRules prefix_rules_for(const KernelRow& row, int blocks) {
  return {.blocks = blocks, .rows = row.rows, .keys = row.keys};
}

StepCutting::StepCutting(const KernelRow& row, const Problem& problem, int multiprocessors,
                         std::int64_t following_rows)
    : shares_(share_rules_for(row, problem, multiprocessors)),
      queue_(queue_rules_for(row, shares_.blocks)) {
  shares_.following_rows = following_rows;
  queue_.most_part_rows += following_rows;
}

ScheduleBounds StepCutting::bounds(const Problem& problem) const {
  const Capacity& extent = problem.extent;
  ScheduleBounds bounds = share_bounds(problem.shape, extent.requests, extent.tokens, shares_);
  const ScheduleBounds queued =
      schedule_bounds(problem.shape, extent.requests, extent.tokens, queue_);
  bounds.items = std::max(bounds.items, queued.items);
  bounds.splits = std::max(bounds.splits, queued.splits);
  return bounds;
}

void StepCutting::cut(const AttentionShape& shape, const StepBatch& step,
                      const PrefixBundles& prefixes, Schedule& schedule) {
  const DeviceLengths& lengths = step.device_lengths;
  const bool narrows = (step.layout == KvLayout::packed || step.tables.positions == nullptr) &&
                       lengths.q_lens == nullptr && lengths.kv_lens == nullptr &&
                       lengths.q_start == nullptr;
  queue_.narrows_slots = shares_.narrows_slots = narrows;
  if (queue_.fixed_split == 0 && suits_shares(shape, step, shares_))
    make_shares(shape, step, shares_, schedule, prefixes);
  else
    make_schedule(shape, step, queue_, schedule, prefixes);
}

}  // namespace headwise::cuda::sm90
