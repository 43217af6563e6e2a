#include "cuda/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "attention/rows.h"
#include "cuda/schedule/item_costs.h"
#include "cuda/schedule/seen_slots.h"

namespace headwise::cuda {
namespace {

constexpr std::int64_t kItemOverhead = ItemCosts::kOverhead;
constexpr std::int64_t kLeastKeys = 256;  // of a part
constexpr double kNarrowAhead = 1.1;      // in mixed steps, of the wide items' pace
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Bytes of K and V that heads taken side by side should not pass, so that L2 holds them.
constexpr std::int64_t kSharedKeyBytes = std::int64_t{36} << 20;

/// Parts beyond one for each item, at most: of fixed length they cannot be fewer and longer.
std::int64_t most_more_parts(const CuttingRules& rules) {
  return std::int64_t{rules.fixed_split > 0 ? 32 : 8} * rules.blocks;
}

struct Piece {
  WorkItem item;
  std::int64_t cost = 0;
  std::int32_t head_group = 0;
  double place = 0.0;  ///< in a mixed step's order: of its kind's cost, what comes before it
};

class Scheduler {
 public:
  Scheduler(const AttentionShape& shape, const StepBatch& step, const CuttingRules& rules,
            const PrefixBundles& prefixes, Schedule& schedule)
      : shape_(shape), step_(step), rules_(rules), prefixes_(prefixes), schedule_(schedule) {}

  void run() {
    schedule_.items.clear();
    schedule_.splits.clear();
    schedule_.shared_tokens.clear();
    schedule_.block_begin.clear();
    schedule_.part_rows = 0;
    cut_rows();
    cut_keys();
    order();
  }

 private:
  /// Rows of partial results that are left.
  std::int64_t room() const { return rules_.most_part_rows - schedule_.part_rows - reserved_rows_; }

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

  void add(const WorkItem& item) {
    const std::int64_t cost = costs_.of(item);
    pieces_.push_back({.item = item, .cost = cost});
    total_ += cost;
    longest_ = std::max(longest_, cost);
    even_ = even_ && cost == pieces_.front().cost;
    all_wide_ = all_wide_ && !costs_.is_narrow(item.rows);
  }

  void cut_request(const WorkItem& request) {
    const std::int64_t rows = std::int64_t{request.q_len} * shape_.group_size();
    const std::int32_t prefix = prefixes_.keys_of(request.request);
    for (std::int64_t row = first_row(rows); row < rows; row += rules_.wide_rows) {
      WorkItem item = request;
      item.row = static_cast<std::int32_t>(std::max<std::int64_t>(row, 0));
      item.rows = static_cast<std::int32_t>(std::min(rows, row + rules_.wide_rows) - item.row);
      narrow(item);
      item.slot_begin = std::max(item.slot_begin, prefix);
      item.slot_end = std::max(item.slot_end, item.slot_begin);
      for (item.kv_head = 0; item.kv_head < shape_.kv_heads; ++item.kv_head) add(item);
    }
    if (prefix > 0) reserved_rows_ += rows * shape_.kv_heads;
    keys_ += request.kv_len - prefix;
  }

  /// Where the first tile of so many rows begins: before them, if it is the short one.
  std::int64_t first_row(std::int64_t rows) const {
    if (rules_.short_first == 0 || rows <= rules_.wide_rows) return 0;
    const std::int64_t over = (rules_.wide_rows - rows % rules_.wide_rows) % rules_.wide_rows;
    return -(over / rules_.short_first * rules_.short_first);
  }

  void narrow(WorkItem& item) const {
    item.slot_end = item.kv_len;
    if (!rules_.narrows_slots) return;
    seen_.narrow(item, costs_.is_narrow(item.rows) ? rules_.narrow_keys : rules_.wide_keys);
  }

  /// What a part may cost.
  std::int64_t grain() const {
    const std::int64_t target = std::max<std::int64_t>(1, total_ / rules_.blocks);
    const auto count = static_cast<std::int64_t>(pieces_.size());
    if (count == 0) return target;
    if (even_) return grain_of_waves(4);
    return std::max(target / 3, kItemOverhead * 2);
  }

  /// Of items that cost about the same: as many parts as fill whole waves of blocks best, up to
  /// `waves` of them.
  std::int64_t grain_of_waves(std::int64_t waves) const {
    std::int64_t best = longest_;
    std::int64_t best_time = kNoLimit;
    const auto count = static_cast<std::int64_t>(pieces_.size());
    const std::int64_t most = std::max<std::int64_t>(1, waves * rules_.blocks / count);
    for (std::int64_t parts = 1; parts <= most; ++parts) {
      const std::int64_t limit = (longest_ - kItemOverhead + parts - 1) / parts + kItemOverhead;
      std::int64_t all = 0;
      std::int64_t longest = 0;
      for (const Piece& piece : pieces_) {
        const std::int64_t work = piece.cost - kItemOverhead;
        const std::int64_t here =
            std::max<std::int64_t>(1, (work + limit - kItemOverhead - 1) /
                                          std::max<std::int64_t>(1, limit - kItemOverhead));
        all += here;
        longest = std::max(longest, (work + here - 1) / here + kItemOverhead);
      }
      const std::int64_t time = (all + rules_.blocks - 1) / rules_.blocks * longest;
      if (time >= best_time) continue;
      best = limit;
      best_time = time;
    }
    return best;
  }

  /// What parts of narrow and of wide items may cost.
  struct Limits {
    std::int64_t narrow = 0;
    std::int64_t wide = 0;
  };

  void cut_keys() {
    const std::int64_t narrow = grain();
    const std::int64_t target = std::max<std::int64_t>(1, total_ / rules_.blocks);
    // A wide part's results are many bytes: of many items only what would end after all others is
    // cut.
    const bool few = pieces_.size() < 2 * static_cast<std::size_t>(rules_.blocks) && all_wide_;
    const Limits limits{narrow, even_ ? narrow : few ? grain_of_waves(2) : target};
    const std::size_t whole = pieces_.size();
    for (std::size_t i = 0; i < whole; ++i) {
      const WorkItem& item = pieces_[i].item;
      const bool follows_prefix = prefixes_.shares(item.request);
      if (follows_prefix) reserved_rows_ -= item.rows;
      const std::int64_t wanted = wanted_parts(item, limits);
      std::int64_t parts = std::min(wanted, most_parts(item));
      if (rules_.fixed_split > 0 && parts > 1) parts = fixed_parts(item);
      if (parts > room() / item.rows || more_parts_ + parts > most_more_parts(rules_)) parts = 1;
      if (parts < 2 && !follows_prefix) continue;
      parts = std::max<std::int64_t>(parts, 1);
      more_parts_ += parts - 1;
      split(i, parts);
    }
  }

  /// Parts that cost no more than the limit.
  std::int64_t wanted_parts(const WorkItem& item, const Limits& limits) const {
    const std::int64_t limit = costs_.is_narrow(item.rows) ? limits.narrow : limits.wide;
    if (limit <= kItemOverhead) return 1;
    const std::int64_t keys = item.slot_end - item.slot_begin;
    const std::int64_t parts =
        (costs_.of(item) - kItemOverhead + limit - kItemOverhead - 1) / (limit - kItemOverhead);
    return std::min(parts, keys / kLeastKeys);
  }

  /// Parts beyond which merging takes longer than it saves.
  std::int64_t most_parts(const WorkItem& item) const {
    if (rules_.fixed_split > 0) return kNoLimit;
    const std::int64_t most = costs_.is_narrow(item.rows) ? std::int64_t{4} * rules_.blocks
                                                          : std::int64_t{rules_.most_wide_parts};
    return std::min(most, std::int64_t{rules_.most_wide_parts} * rules_.wide_rows / item.rows);
  }

  std::int64_t fixed_parts(const WorkItem& item) const {
    return (item.slot_end - 1) / rules_.fixed_split - item.slot_begin / rules_.fixed_split + 1;
  }

  /// Where part `part` of `parts` begins.
  std::int32_t cut_at(const WorkItem& item, std::int64_t part, std::int64_t parts) const {
    if (part == 0) return item.slot_begin;
    if (part == parts) return item.slot_end;
    const std::int64_t fixed = rules_.fixed_split;
    if (fixed > 0) return static_cast<std::int32_t>((item.slot_begin / fixed + part) * fixed);
    const std::int64_t tile = costs_.is_narrow(item.rows) ? rules_.narrow_keys : rules_.wide_keys;
    const std::int64_t tiles = (item.slot_end - item.slot_begin + tile - 1) / tile;
    return static_cast<std::int32_t>(item.slot_begin + tiles * part / parts * tile);
  }

  /// Piece i becomes its first part; the others go behind all pieces.
  void place_part(std::size_t i, std::int64_t part, std::int64_t parts, const WorkItem& whole,
                  std::int32_t part_row) {
    Piece piece = pieces_[i];
    piece.item = whole;
    piece.item.slot_begin = cut_at(whole, part, parts);
    piece.item.slot_end = cut_at(whole, part + 1, parts);
    piece.item.part_row = part_row;
    piece.cost = costs_.of(piece.item);
    if (part == 0)
      pieces_[i] = piece;
    else
      pieces_.push_back(piece);
  }

  void split(std::size_t i, std::int64_t parts) {
    WorkItem whole = pieces_[i].item;
    Split split{.part_row = static_cast<std::int32_t>(schedule_.part_rows),
                .parts = static_cast<std::int32_t>(parts),
                .rows = whole.rows};
    if (prefixes_.shares(whole.request))
      prefixes_.add_parts(split, whole.request, whole.kv_head, whole.row);
    whole.split = static_cast<std::int32_t>(schedule_.splits.size());
    schedule_.splits.push_back(split);
    for (std::int64_t part = 0; part < parts; ++part) {
      place_part(i, part, parts, whole, static_cast<std::int32_t>(schedule_.part_rows));
      schedule_.part_rows += whole.rows;
    }
  }

  /// The longest first of either kind; wide items by groups of heads whose keys fit into L2
  /// together.
  void order() {
    const std::int64_t head_bytes =
        keys_ * (shape_.head_dim_qk + shape_.head_dim_v) * size_of(shape_.kv_type);
    const auto together = static_cast<std::int32_t>(std::clamp<std::int64_t>(
        kSharedKeyBytes / std::max<std::int64_t>(1, head_bytes), 1, shape_.kv_heads));
    for (Piece& piece : pieces_)
      piece.head_group =
          costs_.is_narrow(piece.item.rows) ? shape_.kv_heads : piece.item.kv_head / together;
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return a.head_group != b.head_group ? a.head_group < b.head_group : a.cost > b.cost;
    });
    mix_kinds();
    for (const Piece& piece : pieces_) {
      if (piece.item.split >= 0)
        schedule_.splits[static_cast<std::size_t>(piece.item.split)].item =
            static_cast<std::int32_t>(schedule_.items.size());
      schedule_.items.push_back(piece.item);
    }
  }

  /// Wide items wait for products, narrow ones for memory: of each kind's cost the same share is
  /// done at any time. Narrow ones are a little ahead, so that short wide ones come last.
  void mix_kinds() {
    std::array<double, 2> total{};
    std::array<double, 2> done{};
    const auto kind = [this](const Piece& piece) {
      return static_cast<std::size_t>(costs_.is_narrow(piece.item.rows));
    };
    for (const Piece& piece : pieces_) total[kind(piece)] += static_cast<double>(piece.cost);
    if (total[0] == 0.0 || total[1] == 0.0) return;
    total[1] *= kNarrowAhead;
    for (Piece& piece : pieces_) {
      const std::size_t own = kind(piece);
      piece.place = done[own] / total[own];
      done[own] += static_cast<double>(piece.cost);
    }
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.place < b.place; });
  }

  const AttentionShape& shape_;
  const StepBatch& step_;
  const CuttingRules& rules_;
  const ItemCosts costs_{rules_};
  const SeenSlots seen_{shape_};
  const PrefixBundles& prefixes_;
  Schedule& schedule_;
  std::vector<Piece> pieces_;
  std::int64_t total_ = 0;          // cost
  std::int64_t longest_ = 0;        // cost of one item
  std::int64_t keys_ = 0;           // of all requests
  std::int64_t reserved_rows_ = 0;  // of partial results: a part of what follows each prefix
  std::int64_t more_parts_ = 0;
  bool even_ = true;  // all items cost the same
  bool all_wide_ = true;
};

}  // namespace

void make_schedule(const AttentionShape& shape, const StepBatch& step, const CuttingRules& rules,
                   Schedule& schedule, const PrefixBundles& prefixes) {
  Scheduler(shape, step, rules, prefixes, schedule).run();
}

ScheduleBounds schedule_bounds(const AttentionShape& shape, std::int64_t requests,
                               std::int64_t tokens, const CuttingRules& rules) {
  const std::int64_t rows = tokens * shape.group_size();
  const std::int64_t own = (rows / rules.wide_rows + requests) * shape.kv_heads;
  const std::int64_t more = std::min(rules.most_part_rows, most_more_parts(rules));
  return {.items = own + more, .splits = std::min(own, rules.most_part_rows)};
}

}  // namespace headwise::cuda
