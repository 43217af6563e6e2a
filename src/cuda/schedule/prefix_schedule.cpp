#include "cuda/schedule/prefix_schedule.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headwise::cuda {
namespace {

/// The bundles as if each were a request.
class BundledStep {
 public:
  BundledStep(const StepBatch& step, const PrefixBundles& bundles) {
    for (const PrefixBundle& bundle : bundles.bundles) {
      q_lens_.push_back(bundle.tokens);
      kv_lens_.push_back(bundle.keys);
      kv_start_.push_back(
          step.kv_start.empty() ? 0 : step.kv_start[static_cast<std::size_t>(bundle.leader)]);
    }
    q_start_ = kv_lens_;  // behind all of its keys
    batch_.q_lens = q_lens_;
    batch_.kv_lens = kv_lens_;
    batch_.q_start = q_start_;
    batch_.kv_start = kv_start_;
  }
  BundledStep(const BundledStep&) = delete;

  const StepBatch& batch() const { return batch_; }

 private:
  std::vector<std::int32_t> q_lens_, kv_lens_, q_start_;
  std::vector<std::int64_t> kv_start_;
  StepBatch batch_;
};

/// Where the item's results lie, which make_shares() may have left to out.
PrefixParts parts_of(const WorkItem& item, Schedule& schedule) {
  if (item.split >= 0) {
    const Split& split = schedule.splits[static_cast<std::size_t>(item.split)];
    return {split.part_row, split.parts, split.rows};
  }
  const auto row = static_cast<std::int32_t>(schedule.part_rows);
  schedule.part_rows += item.rows;
  return {row, 1, item.rows};
}

}  // namespace

void make_prefix_schedule(const AttentionShape& shape, const StepBatch& step,
                          const ShareRules& rules, std::int64_t first_part_row,
                          PrefixBundles& bundles, Schedule& schedule) {
  ShareRules all_keys = rules;
  all_keys.narrows_slots = false;
  make_shares(shape, BundledStep(step, bundles).batch(), all_keys, schedule);
  const auto kv_heads = static_cast<std::size_t>(shape.kv_heads);
  const auto offset = static_cast<std::int32_t>(first_part_row);
  bundles.parts.assign(bundles.bundles.size() * kv_heads, {});
  for (WorkItem& item : schedule.items) {
    const auto index = static_cast<std::size_t>(item.request);
    const PrefixBundle& bundle = bundles.bundles[index];
    PrefixParts& parts = bundles.parts[index * kv_heads + static_cast<std::size_t>(item.kv_head)];
    if (parts.parts == 0) {
      parts = parts_of(item, schedule);
      if (item.split < 0) item.part_row = parts.part_row;
      parts.part_row += offset;
    }
    item.part_row += offset;
    item.split = -1;
    item.request = bundle.leader;
    item.q_len = 0;  // among these keys no token is new
    item.is_prefix = 1;
  }
  schedule.splits.clear();
  schedule.shared_tokens = bundles.tokens;
}

void make_prefix_queue(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
                       std::int64_t first_part_row, PrefixBundles& bundles, Schedule& schedule) {
  make_prefix_schedule(shape, step, rules, first_part_row, bundles, schedule);
  schedule.block_begin.clear();
  std::stable_sort(schedule.items.begin(), schedule.items.end(),
                   [](const WorkItem& a, const WorkItem& b) {
                     return a.slot_end - a.slot_begin > b.slot_end - b.slot_begin;
                   });
}

std::int64_t most_bundled_rows(const AttentionShape& shape, const Capacity& capacity,
                               const ShareRules& rules) {
  constexpr std::int64_t kMostOfBlock = 16;  // bundles' rows
  return std::min(capacity.tokens * shape.q_heads, kMostOfBlock * rules.blocks * rules.rows);
}

std::int64_t most_prefix_rows(std::int64_t bundled_rows, const ShareRules& rules) {
  // Each block but the first begins one part more.
  return bundled_rows + std::int64_t{rules.blocks} * rules.rows;
}

ScheduleBounds prefix_bounds(const AttentionShape& shape, const Capacity& capacity,
                             const ShareRules& rules) {
  return {.items = capacity.requests / 2 * shape.kv_heads + rules.blocks,
          .shared_tokens = capacity.tokens,
          .blocks = rules.blocks};
}

}  // namespace headwise::cuda
