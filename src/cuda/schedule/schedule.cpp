#include "cuda/schedule/schedule.h"

#include <algorithm>
#include <cstddef>

#include "attention/mask.h"
#include "attention/rows.h"

namespace headwise::cuda {
namespace {

// Costs in sixteenths of what a block needs for a narrow tile of 64 keys: its time is that of
// reading them, a full wide tile's that of its products.
constexpr std::int64_t kNarrowTile = 16;
constexpr std::int64_t kWideTile = 28;
constexpr std::int64_t kItemOverhead = 32;  // filling the pipeline, results
constexpr std::int64_t kLeastKeys = 256;    // of a part

/// Bytes of K and V that heads taken side by side should not pass, so that L2 holds them.
constexpr std::int64_t kSharedKeyBytes = std::int64_t{36} << 20;

/// Parts beyond one for each item, at most.
std::int64_t most_more_parts(const CuttingRules& rules) { return std::int64_t{8} * rules.blocks; }

struct Piece {
  WorkItem item;
  std::int64_t cost = 0;
  std::int32_t head_group = 0;
};

class Scheduler {
 public:
  Scheduler(const AttentionShape& shape, const StepBatch& step, const CuttingRules& rules,
            Schedule& schedule)
      : shape_(shape), step_(step), rules_(rules), schedule_(schedule) {}

  void run() {
    schedule_.items.clear();
    schedule_.splits.clear();
    schedule_.part_rows = 0;
    cut_rows();
    cut_keys();
    order();
  }

 private:
  bool is_narrow(const WorkItem& item) const { return item.rows <= rules_.narrow_rows; }

  std::int64_t cost_of(const WorkItem& item) const {
    const std::int64_t keys = item.slot_end - item.slot_begin;
    if (is_narrow(item)) return kItemOverhead + keys * kNarrowTile / 64;
    // Warps without rows leave the products' units to other blocks, but not their time for the
    // rest.
    const std::int64_t full = kWideTile * keys / 64;
    return kItemOverhead + std::max(full / 2, full * item.rows / rules_.wide_rows);
  }

  void cut_rows() {
    std::int64_t token = 0;
    for (std::int64_t r = 0; r < step_.requests(); ++r) {
      const auto at = static_cast<std::size_t>(r);
      cut_request({.request = static_cast<std::int32_t>(r),
                   .first_token = token,
                   .kv_start = step_.kv_start.empty() ? 0 : step_.kv_start[at],
                   .q_len = step_.q_lens[at],
                   .kv_len = step_.kv_lens[at],
                   .q_start = step_.q_start[at]});
      token += step_.q_lens[at];
    }
  }

  void cut_request(const WorkItem& request) {
    const std::int64_t rows = std::int64_t{request.q_len} * shape_.group_size();
    for (std::int64_t row = 0; row < rows; row += rules_.wide_rows) {
      WorkItem item = request;
      item.row = static_cast<std::int32_t>(row);
      item.rows = static_cast<std::int32_t>(std::min<std::int64_t>(rows - row, rules_.wide_rows));
      narrow(item);
      const std::int64_t cost = cost_of(item);
      for (item.kv_head = 0; item.kv_head < shape_.kv_heads; ++item.kv_head)
        pieces_.push_back({item, cost});
      total_ += cost * shape_.kv_heads;
      longest_ = std::max(longest_, cost);
      even_ = even_ && cost == pieces_.front().cost;
    }
    keys_ += request.kv_len;
  }

  /// Leaves out keys that no row of the item sees.
  void narrow(WorkItem& item) const {
    item.slot_end = item.kv_len;
    if (!rules_.narrows_slots) return;
    const int group = shape_.group_size();
    const PositionRange rows{item.q_start + item.row / group,
                             item.q_start + (item.row + item.rows - 1) / group};
    const PositionRange seen = Mask(shape_).seen_from(rows);
    const int tile = is_narrow(item) ? rules_.narrow_keys : rules_.wide_keys;
    item.slot_end =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(seen.last + 1, 0, item.slot_end));
    item.slot_begin = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(seen.first, 0, item.slot_end) / tile * tile);
  }

  /// What a part may cost.
  std::int64_t grain() const {
    const std::int64_t target = std::max<std::int64_t>(1, total_ / rules_.blocks);
    const auto count = static_cast<std::int64_t>(pieces_.size());
    if (!even_ || count == 0) return std::max(target / 3, kItemOverhead * 2);
    // All alike: as many equal parts as fill whole waves of blocks best.
    std::int64_t best_parts = 1;
    std::int64_t best_time = 0;
    const std::int64_t most = std::max<std::int64_t>(1, 4 * rules_.blocks / count);
    for (std::int64_t parts = 1; parts <= most; ++parts) {
      const std::int64_t waves = (count * parts + rules_.blocks - 1) / rules_.blocks;
      const std::int64_t work = longest_ - kItemOverhead;
      const std::int64_t time = waves * ((work + parts - 1) / parts + kItemOverhead);
      if (parts > 1 && time >= best_time) continue;
      best_parts = parts;
      best_time = time;
    }
    return (longest_ - kItemOverhead + best_parts - 1) / best_parts + kItemOverhead;
  }

  void cut_keys() {
    const std::int64_t narrow_grain = grain();
    const std::int64_t target = std::max<std::int64_t>(1, total_ / rules_.blocks);
    // A wide part's results are many bytes: only what would end after all others is cut.
    const std::int64_t wide_grain = even_ ? narrow_grain : target;
    const std::size_t whole = pieces_.size();
    for (std::size_t i = 0; i < whole; ++i) {
      const Piece piece = pieces_[i];
      const std::int64_t limit = is_narrow(piece.item) ? narrow_grain : wide_grain;
      const std::int64_t keys = piece.item.slot_end - piece.item.slot_begin;
      std::int64_t parts =
          limit <= kItemOverhead
              ? 1
              : (piece.cost - kItemOverhead + limit - kItemOverhead - 1) / (limit - kItemOverhead);
      parts = std::min({parts, keys / kLeastKeys,
                        is_narrow(piece.item) ? std::int64_t{4} * rules_.blocks
                                              : std::int64_t{rules_.most_wide_parts}});
      const std::int64_t room = (rules_.most_part_rows - schedule_.part_rows) / piece.item.rows;
      if (parts < 2 || parts > room || more_parts_ + parts > most_more_parts(rules_)) continue;
      more_parts_ += parts - 1;
      split(i, parts);
    }
  }

  /// Piece i becomes its first part; the others go behind all pieces.
  void split(std::size_t i, std::int64_t parts) {
    const WorkItem whole = pieces_[i].item;
    const std::int64_t tile = is_narrow(whole) ? rules_.narrow_keys : rules_.wide_keys;
    const std::int64_t tiles = (whole.slot_end - whole.slot_begin + tile - 1) / tile;
    const auto cut = [&](std::int64_t part) {
      return part == parts
                 ? whole.slot_end
                 : static_cast<std::int32_t>(whole.slot_begin + tiles * part / parts * tile);
    };
    const Split split{.part_row = static_cast<std::int32_t>(schedule_.part_rows),
                      .parts = static_cast<std::int32_t>(parts),
                      .rows = whole.rows};
    for (std::int64_t part = 0; part < parts; ++part) {
      Piece piece = pieces_[i];
      piece.item.slot_begin = cut(part);
      piece.item.slot_end = cut(part + 1);
      piece.item.part_row = static_cast<std::int32_t>(schedule_.part_rows);
      piece.item.split = static_cast<std::int32_t>(schedule_.splits.size());
      piece.cost = cost_of(piece.item);
      schedule_.part_rows += whole.rows;
      if (part == 0)
        first_parts_.push_back({i, piece});
      else
        pieces_.push_back(piece);
    }
    schedule_.splits.push_back(split);
  }

  /// The longest first; wide items by groups of heads whose keys fit into L2 together.
  void order() {
    for (const auto& [i, piece] : first_parts_) pieces_[i] = piece;
    const std::int64_t head_bytes =
        keys_ * (shape_.head_dim_qk + shape_.head_dim_v) * size_of(shape_.kv_type);
    const auto together = static_cast<std::int32_t>(std::clamp<std::int64_t>(
        kSharedKeyBytes / std::max<std::int64_t>(1, head_bytes), 1, shape_.kv_heads));
    for (Piece& piece : pieces_)
      piece.head_group = is_narrow(piece.item) ? shape_.kv_heads : piece.item.kv_head / together;
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return a.head_group != b.head_group ? a.head_group < b.head_group : a.cost > b.cost;
    });
    for (const Piece& piece : pieces_) schedule_.items.push_back(piece.item);
  }

  const AttentionShape& shape_;
  const StepBatch& step_;
  const CuttingRules& rules_;
  Schedule& schedule_;
  std::vector<Piece> pieces_;
  std::vector<std::pair<std::size_t, Piece>> first_parts_;
  std::int64_t total_ = 0;    // cost
  std::int64_t longest_ = 0;  // cost of one item
  std::int64_t keys_ = 0;     // of all requests
  std::int64_t more_parts_ = 0;
  bool even_ = true;  // all items cost the same
};

}  // namespace

void make_schedule(const AttentionShape& shape, const StepBatch& step, const CuttingRules& rules,
                   Schedule& schedule) {
  Scheduler(shape, step, rules, schedule).run();
}

ScheduleBounds schedule_bounds(const AttentionShape& shape, std::int64_t requests,
                               std::int64_t tokens, const CuttingRules& rules) {
  const std::int64_t rows = tokens * shape.group_size();
  const std::int64_t whole = (rows / rules.wide_rows + requests) * shape.kv_heads;
  const std::int64_t more = std::min(rules.most_part_rows, most_more_parts(rules));
  return {.items = whole + more, .splits = std::min(whole, more)};
}

}  // namespace headwise::cuda
