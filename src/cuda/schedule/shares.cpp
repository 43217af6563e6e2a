#include "cuda/schedule/shares.h"

#include <algorithm>
#include <bit>
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
          const PrefixBundles& prefixes, Schedule& schedule)
      : shape_(shape),
        step_(step),
        rules_(rules),
        prefixes_(prefixes),
        team_(team_size(shape, step, rules)),
        teams_(rules.blocks / team_),
        schedule_(schedule) {}

  void run() {
    collect_wholes();
    // The least that a team may cost, and a little more until there are enough of them.
    std::int64_t budget = (total_cost() + teams_ - 1) / teams_ + kTile;
    while (fill_teams(
               budget, [](const Piece&) {}, [] {}) > teams_)
      budget += std::max<std::int64_t>(kTile, budget / 128);
    cut(budget);
    lay_out();
  }

 private:
  /// A team's rows of a request, with all keys that they see and another launch has not read: for
  /// each KV head.
  struct Whole {
    WorkItem item;
    std::int64_t tiles = 0;
    std::int64_t cost = 0;
    bool is_part = false;  ///< behind a shared prefix
  };

  /// Tiles of a whole's rows: all, of some KV heads, or a part of one's.
  struct Piece {
    std::size_t whole = 0;
    std::int32_t kv_head = 0;
    std::int32_t kv_heads = 1;
    std::int64_t first_tile = 0;
    std::int64_t end_tile = 0;
    std::int32_t part = 0;
    std::int32_t split = -1;  ///< of the first KV head, the team's first block
  };

  void set_seen(WorkItem& item) const {
    item.slot_begin = 0;
    item.slot_end = item.kv_len;
    if (rules_.narrows_slots) seen_.narrow(item, rules_.keys);
    item.slot_begin = std::max(item.slot_begin, prefixes_.keys_of(item.request));
    item.slot_end = std::max(item.slot_end, item.slot_begin);
  }

  std::int64_t tiles_of(std::int32_t keys) const { return (keys + rules_.keys - 1) >> tile_bits_; }

  // Here and in add_items() structures are filled in where they stay: read as a whole right after
  // a part of it was written, one waits for the store.

  void collect_wholes() {
    const std::int64_t most = std::int64_t{rules_.rows} * team_;
    const std::int64_t group = shape_.group_size();
    std::int64_t token = 0;
    wholes_.reserve(step_.q_lens.size());
    for (std::size_t r = 0; r < step_.q_lens.size(); ++r) {
      const std::int64_t rows = step_.q_lens[r] * group;
      for (std::int64_t row = 0; row < rows; row += most) {
        Whole& whole = wholes_.emplace_back();
        WorkItem& item = whole.item;
        item.request = static_cast<std::int32_t>(r);
        item.row = static_cast<std::int32_t>(row);
        item.rows = static_cast<std::int32_t>(std::min(rows - row, most));
        item.first_token = token;
        item.kv_start = step_.kv_start.empty() ? 0 : step_.kv_start[r];
        item.q_len = step_.q_lens[r];
        item.kv_len = step_.kv_lens[r];
        item.q_start = step_.q_start[r];
        set_seen(item);
        whole.tiles = tiles_of(item.slot_end - item.slot_begin);
        whole.is_part = prefixes_.shares(item.request);
        whole.cost = rules_.item_cost + whole.tiles * kTile;
        if (whole.is_part) whole.cost += rules_.part_cost;
      }
      token += step_.q_lens[r];
    }
  }

  std::int64_t total_cost() const {
    std::int64_t total = 0;
    for (const Whole& whole : wholes_) total += whole.cost * shape_.kv_heads;
    return total;
  }

  /// Gives everything to teams that may cost so much each: calls place(piece) for what the team
  /// under way gets, and end_team() behind each but the last. Returns how many there are, or more
  /// than there may be.
  template <class Place, class EndTeam>
  std::int64_t fill_teams(std::int64_t budget, const Place& place, const EndTeam& end_team) const {
    const std::int64_t part_cost = rules_.item_cost + rules_.part_cost;
    std::int64_t teams = 1;
    std::int64_t left = budget;
    const auto next_team = [&] {
      end_team();
      left = budget;
      ++teams;
    };
    for (std::size_t i = 0; i < wholes_.size() && teams <= teams_; ++i) {
      const Whole& whole = wholes_[i];
      Piece piece{.whole = i};
      while (piece.kv_head < shape_.kv_heads) {
        piece.first_tile = 0;
        piece.end_tile = whole.tiles;
        if (whole.cost <= left) {
          const std::int64_t rest = shape_.kv_heads - piece.kv_head;
          piece.kv_heads = static_cast<std::int32_t>(
              rest * whole.cost <= left ? rest : left / whole.cost);  // divisions are slow
          place(piece);
          left -= piece.kv_heads * whole.cost;
          piece.kv_head += piece.kv_heads;
          continue;
        }
        if (left < budget && left < part_cost + kLeastTiles * kTile) {
          next_team();
          continue;
        }
        piece.kv_heads = 1;
        for (piece.part = 0;; ++piece.part) {
          const std::int64_t rest = whole.tiles - piece.first_tile;
          const std::int64_t cost = (piece.part == 0 ? rules_.item_cost : part_cost) + rest * kTile;
          const std::int64_t here = std::max((left - part_cost) / kTile, kLeastTiles);
          const bool ends = cost <= left || here >= rest;
          piece.end_tile = ends ? whole.tiles : piece.first_tile + here;
          place(piece);
          if (ends) {
            left -= cost;
            break;
          }
          piece.first_tile = piece.end_tile;
          next_team();
        }
        piece.part = 0;
        ++piece.kv_head;
      }
    }
    return teams;
  }

  void cut(std::int64_t budget) {
    schedule_.splits.clear();
    schedule_.part_rows = 0;
    team_begin_.assign(1, 0);
    pieces_.reserve(wholes_.size() + 4 * static_cast<std::size_t>(teams_));
    const auto end_team = [&] {
      if (pieces_.size() > team_begin_.back()) team_begin_.push_back(pieces_.size());
    };
    const auto place = [&](const Piece& piece) {
      pieces_.push_back(piece);
      const Whole& whole = wholes_[piece.whole];
      if (piece.end_tile == whole.tiles && (piece.part > 0 || whole.is_part))
        add_splits(whole, piece.kv_head, piece.kv_heads, piece.part + 1);
    };
    fill_teams(budget, place, end_team);
    end_team();
  }

  /// The last pieces are all parts of the same rows.
  void add_splits(const Whole& whole, std::int32_t kv_head, std::int32_t kv_heads,
                  std::int32_t parts) {
    const auto first = static_cast<std::int32_t>(schedule_.splits.size());
    for (std::int32_t i = 0; i < parts; ++i)
      pieces_[pieces_.size() - 1 - static_cast<std::size_t>(i)].split = first;
    for (std::int32_t head = kv_head; head < kv_head + kv_heads; ++head)
      for (std::int32_t row = 0; row < whole.item.rows; row += rules_.rows) {
        Split split{.part_row = static_cast<std::int32_t>(schedule_.part_rows),
                    .parts = parts,
                    .rows = std::min(whole.item.rows - row, rules_.rows)};
        if (whole.is_part)
          prefixes_.add_parts(split, whole.item.request, head, whole.item.row + row);
        schedule_.part_rows += std::int64_t{split.rows} * parts;
        schedule_.splits.push_back(split);
      }
  }

  /// Each team's pieces, to each of its blocks.
  void lay_out() {
    schedule_.items.resize(count_items());  // there are thousands: no look at room for each
    items_ = 0;
    schedule_.shared_tokens.clear();
    schedule_.block_begin.assign(1, 0);
    for (std::size_t team = 0; team + 1 < team_begin_.size(); ++team)
      for (int block = 0; block < team_; ++block) {
        for (std::size_t i = team_begin_[team]; i < team_begin_[team + 1]; ++i)
          add_items(pieces_[i], block);
        schedule_.block_begin.push_back(static_cast<std::int32_t>(items_));
      }
    schedule_.block_begin.resize(static_cast<std::size_t>(rules_.blocks) + 1,
                                 static_cast<std::int32_t>(items_));
  }

  std::size_t count_items() const {
    std::int64_t count = 0;
    for (const Piece& piece : pieces_)
      count += std::int64_t{piece.kv_heads} *
               ((wholes_[piece.whole].item.rows + rules_.rows - 1) / rules_.rows);
    return static_cast<std::size_t>(count);
  }

  /// A block's rows of a piece, if there are any, and those of its keys that they see.
  void add_items(const Piece& piece, int block) {
    const WorkItem& whole = wholes_[piece.whole].item;
    const std::int32_t before = block * rules_.rows;
    if (before >= whole.rows) return;
    const auto slot_of = [&](std::int64_t tile) {
      return static_cast<std::int32_t>(
          std::min<std::int64_t>(whole.slot_begin + tile * rules_.keys, whole.slot_end));
    };
    const std::int32_t row = whole.row + before;
    const std::int32_t rows = std::min(whole.rows - before, rules_.rows);
    std::int32_t slot_begin = whole.slot_begin;
    std::int32_t slot_end = whole.slot_end;
    if (team_ > 1) {
      WorkItem own = whole;
      own.row = row;
      own.rows = rows;
      set_seen(own);
      slot_begin = own.slot_begin;
      slot_end = own.slot_end;
    }
    slot_begin = std::clamp(slot_begin, slot_of(piece.first_tile), slot_of(piece.end_tile));
    slot_end = std::clamp(slot_end, slot_begin, slot_of(piece.end_tile));
    const std::int32_t blocks = piece.split < 0 ? 0 : (whole.rows + rules_.rows - 1) / rules_.rows;
    WorkItem* own = schedule_.items.data() + items_;
    items_ += static_cast<std::size_t>(piece.kv_heads);
    for (std::int32_t i = 0; i < piece.kv_heads; ++i, ++own) {
      *own = whole;
      own->kv_head = piece.kv_head + i;
      own->row = row;
      own->rows = rows;
      own->slot_begin = slot_begin;
      own->slot_end = slot_end;
      if (piece.split < 0) continue;
      own->split = piece.split + i * blocks + block;
      const Split& split = schedule_.splits[static_cast<std::size_t>(own->split)];
      own->part_row = split.part_row + piece.part * split.rows;
    }
  }

  const AttentionShape& shape_;
  const StepBatch& step_;
  const ShareRules& rules_;
  const PrefixBundles& prefixes_;
  const SeenSlots seen_{shape_};
  const int tile_bits_ = std::countr_zero(static_cast<unsigned>(rules_.keys));
  const int team_;
  const std::int64_t teams_;
  Schedule& schedule_;
  std::size_t items_ = 0;  // that are laid out
  std::vector<Whole> wholes_;
  std::vector<Piece> pieces_;            // each team's one behind the other
  std::vector<std::size_t> team_begin_;  // each one's first piece, and their end
};

}  // namespace

int team_size(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules) {
  std::int64_t most = 0;
  for (const std::int32_t q_len : step.q_lens) most = std::max<std::int64_t>(most, q_len);
  const std::int64_t items = (most * shape.group_size() + rules.rows - 1) / rules.rows;
  return items <= rules.blocks ? std::max(static_cast<int>(items), 1) : 1;
}

void make_shares(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
                 Schedule& schedule, const PrefixBundles& prefixes) {
  Sharing(shape, step, rules, prefixes, schedule).run();
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
  const std::int64_t wholes = (rows / rules.rows + requests) * shape.kv_heads;
  return {.items = wholes + rules.blocks,
          .splits = rules.blocks + (rules.following_rows > 0 ? wholes : 0),
          .blocks = rules.blocks,
          .part_rows = rules.most_part_rows()};
}

}  // namespace headwise::cuda
