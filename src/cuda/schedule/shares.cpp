#include "cuda/schedule/shares.h"

#include <algorithm>
#include <cstddef>

#include "cuda/schedule/seen_slots.h"

namespace headwise::cuda {
namespace {

/// Tiles that are worth beginning an item for.
constexpr std::int64_t kLeastTiles = 2;

class Sharing {
 public:
  Sharing(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
          Schedule& schedule)
      : shape_(shape), step_(step), rules_(rules), schedule_(schedule) {}

  void run() {
    // What each block may cost if cuts fall where they should; a little more where they do not.
    const std::int64_t overhead = rules_.overhead_tiles;
    for_each_item([&](const WorkItem& item) { total_ += tiles(item) + overhead; });
    total_ += overhead * (rules_.blocks - 1);
    std::int64_t budget = (total_ + rules_.blocks - 1) / rules_.blocks;
    while (!fits(budget)) budget += std::max<std::int64_t>(1, budget / 64);
  }

 private:
  std::int64_t tiles(const WorkItem& item) const {
    return (item.slot_end - item.slot_begin + rules_.keys - 1) / rules_.keys;
  }

  /// Calls `body` for rows of each KV head of each request, with all keys that they see.
  template <class Body>
  void for_each_item(const Body& body) const {
    std::int64_t token = 0;
    for (std::size_t r = 0; r < step_.q_lens.size(); ++r) {
      WorkItem item{.request = static_cast<std::int32_t>(r),
                    .first_token = token,
                    .kv_start = step_.kv_start.empty() ? 0 : step_.kv_start[r],
                    .q_len = step_.q_lens[r],
                    .kv_len = step_.kv_lens[r],
                    .q_start = step_.q_start[r]};
      token += item.q_len;
      const std::int64_t rows = std::int64_t{item.q_len} * shape_.group_size();
      for (item.kv_head = 0; item.kv_head < shape_.kv_heads; ++item.kv_head)
        for (std::int64_t row = 0; row < rows; row += rules_.rows) {
          item.row = static_cast<std::int32_t>(row);
          item.rows = static_cast<std::int32_t>(std::min<std::int64_t>(rows - row, rules_.rows));
          item.slot_begin = 0;
          item.slot_end = item.kv_len;
          if (rules_.narrows_slots) narrow_to_seen(shape_, rules_.keys, item);
          body(item);
        }
    }
  }

  /// Fills blocks up to a budget each; whether there are enough of them.
  bool fits(std::int64_t budget) {
    schedule_.items.clear();
    schedule_.splits.clear();
    schedule_.shared_tokens.clear();
    schedule_.block_begin.assign(1, 0);
    schedule_.part_rows = 0;
    budget_ = left_ = budget;
    for_each_item([&](const WorkItem& item) { place(item); });
    end_block();
    const bool enough = std::ssize(schedule_.block_begin) <= rules_.blocks + 1;
    schedule_.block_begin.resize(static_cast<std::size_t>(rules_.blocks) + 1,
                                 static_cast<std::int32_t>(schedule_.items.size()));
    return enough;
  }

  void end_block() {
    const auto end = static_cast<std::int32_t>(schedule_.items.size());
    if (end > schedule_.block_begin.back()) schedule_.block_begin.push_back(end);
    left_ = budget_;
  }

  void place(WorkItem item) {
    const std::int64_t whole = rules_.overhead_tiles;
    const std::int64_t part = whole + rules_.part_tiles;
    const std::int32_t slot_end = item.slot_end;
    const std::size_t first = schedule_.items.size();
    std::int64_t rest = tiles(item);
    if (left_ < budget_ && left_ < whole + rest && left_ < part + kLeastTiles) end_block();
    while (rest > left_ - (schedule_.items.size() > first ? part : whole)) {
      const std::int64_t here = std::clamp<std::int64_t>(left_ - part, kLeastTiles, rest);
      if (here == rest) break;
      rest -= here;
      item.slot_end = static_cast<std::int32_t>(item.slot_begin + here * rules_.keys);
      schedule_.items.push_back(item);
      end_block();
      item.slot_begin = item.slot_end;
    }
    item.slot_end = slot_end;
    schedule_.items.push_back(item);
    left_ -= rest + (schedule_.items.size() > first + 1 ? part : whole);
    if (schedule_.items.size() > first + 1) note_split(first);
  }

  /// The items from `first` on are parts of the same rows.
  void note_split(std::size_t first) {
    const auto parts = static_cast<std::int32_t>(schedule_.items.size() - first);
    const std::int32_t rows = schedule_.items[first].rows;
    const auto split = static_cast<std::int32_t>(schedule_.splits.size());
    schedule_.splits.push_back({.part_row = static_cast<std::int32_t>(schedule_.part_rows),
                                .parts = parts,
                                .rows = rows,
                                .items = parts,
                                .item = static_cast<std::int32_t>(first)});
    for (std::int32_t part = 0; part < parts; ++part) {
      WorkItem& item = schedule_.items[first + static_cast<std::size_t>(part)];
      item.split = split;
      item.part_row = static_cast<std::int32_t>(schedule_.part_rows);
      schedule_.part_rows += rows;
    }
  }

  const AttentionShape& shape_;
  const StepBatch& step_;
  const ShareRules& rules_;
  Schedule& schedule_;
  std::int64_t total_ = 0;   // tiles
  std::int64_t budget_ = 0;  // of a block
  std::int64_t left_ = 0;    // to the block that is being filled
};

}  // namespace

void make_shares(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
                 Schedule& schedule) {
  Sharing(shape, step, rules, schedule).run();
}

ScheduleBounds share_bounds(const AttentionShape& shape, std::int64_t requests, std::int64_t tokens,
                            const ShareRules& rules) {
  const std::int64_t rows = tokens * shape.group_size();
  return {.items = (rows / rules.rows + requests) * shape.kv_heads + rules.blocks,
          .splits = rules.blocks,
          .blocks = rules.blocks};
}

}  // namespace headwise::cuda
