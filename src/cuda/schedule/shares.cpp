#include "cuda/schedule/shares.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cuda/schedule/seen_slots.h"

namespace headwise::cuda {
namespace {

/// Tiles that are worth beginning an item for.
constexpr std::int64_t kLeastTiles = 2;
constexpr std::int64_t kTile = 4;  // cost

class Sharing {
 public:
  Sharing(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
          Schedule& schedule)
      : shape_(shape), step_(step), rules_(rules), schedule_(schedule) {}

  void run() {
    schedule_.items.clear();
    for_each_item([&](const WorkItem& item) { schedule_.items.push_back(item); });
    whole_.swap(schedule_.items);
    std::int64_t total = 0;
    for (const WorkItem& item : whole_) total += rules_.item_cost + tiles(item) * kTile;
    // The least that a block may cost, and a little more until there are enough of them.
    std::int64_t budget = (total + rules_.blocks - 1) / rules_.blocks + kTile;
    while (!fits(budget)) budget += std::max<std::int64_t>(kTile, budget / 128);
    lay_out(budget);
    schedule_.block_begin.resize(static_cast<std::size_t>(rules_.blocks) + 1,
                                 static_cast<std::int32_t>(schedule_.items.size()));
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

  /// A block under way.
  struct Filling {
    std::int64_t budget;  ///< what it may cost
    std::int64_t left;    ///< of that
    std::int64_t blocks = 1;

    bool empty() const { return left == budget; }
    void next() {
      left = budget;
      ++blocks;
    }
  };

  /// Cuts an item of `rest` tiles: calls `part(tiles)` for each but the last, behind which the
  /// block ends, and returns the last one's tiles.
  template <class EndBlock, class Part>
  std::int64_t cut(Filling& block, std::int64_t rest, const EndBlock& end_block,
                   const Part& part) const {
    const std::int64_t whole_cost = rules_.item_cost;
    const std::int64_t part_cost = whole_cost + rules_.part_cost;
    std::int64_t cost = whole_cost;
    if (!block.empty() && block.left < whole_cost + rest * kTile &&
        block.left < part_cost + kLeastTiles * kTile) {
      end_block();
      block.next();
    }
    while (cost + rest * kTile > block.left) {
      const std::int64_t here = std::max((block.left - part_cost) / kTile, kLeastTiles);
      if (here >= rest) break;
      part(here);
      rest -= here;
      cost = part_cost;
      end_block();
      block.next();
    }
    block.left -= cost + rest * kTile;
    return rest;
  }

  /// Whether there are enough blocks of a budget.
  bool fits(std::int64_t budget) const {
    Filling block{budget, budget};
    for (const WorkItem& item : whole_) {
      cut(
          block, tiles(item), [] {}, [](std::int64_t) {});
      if (block.blocks > rules_.blocks) return false;
    }
    return true;
  }

  void lay_out(std::int64_t budget) {
    schedule_.splits.clear();
    schedule_.shared_tokens.clear();
    schedule_.part_rows = 0;
    schedule_.block_begin.assign(1, 0);
    const auto end_block = [&] {
      const auto end = static_cast<std::int32_t>(schedule_.items.size());
      if (end > schedule_.block_begin.back()) schedule_.block_begin.push_back(end);
    };
    Filling block{budget, budget};
    for (WorkItem item : whole_) {
      const std::size_t first = schedule_.items.size();
      const std::int32_t slot_end = item.slot_end;
      cut(block, tiles(item), end_block, [&](std::int64_t tiles) {
        item.slot_end = static_cast<std::int32_t>(item.slot_begin + tiles * rules_.keys);
        schedule_.items.push_back(item);
        item.slot_begin = item.slot_end;
      });
      item.slot_end = slot_end;
      schedule_.items.push_back(item);
      if (schedule_.items.size() > first + 1) note_split(first);
    }
    end_block();
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
  std::vector<WorkItem> whole_;  // items before they are cut
};

}  // namespace

void make_shares(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
                 Schedule& schedule) {
  Sharing(shape, step, rules, schedule).run();
}

int most_blocks(const AttentionShape& shape, const Capacity& capacity, const ShareRules& rules) {
  const std::int64_t items =
      (capacity.tokens * shape.group_size() / rules.rows + capacity.requests) * shape.kv_heads;
  const std::int64_t parts =
      (std::int64_t{capacity.kv_len} + kLeastTiles * rules.keys - 1) / (kLeastTiles * rules.keys);
  return static_cast<int>(
      std::clamp<std::int64_t>(items * std::max<std::int64_t>(1, parts), 1, rules.blocks));
}

ScheduleBounds share_bounds(const AttentionShape& shape, std::int64_t requests, std::int64_t tokens,
                            const ShareRules& rules) {
  const std::int64_t rows = tokens * shape.group_size();
  return {.items = (rows / rules.rows + requests) * shape.kv_heads + rules.blocks,
          .splits = rules.blocks,
          .blocks = rules.blocks,
          .part_rows = rules.most_part_rows()};
}

}  // namespace headwise::cuda
