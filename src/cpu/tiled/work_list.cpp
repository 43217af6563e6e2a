#include "cpu/tiled/work_list.h"

#include <algorithm>

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

constexpr std::int64_t kTileOverhead =
    12;  // reading and packing a tile of keys, in rows' worth of products
constexpr std::int64_t kItemsPerThread = 4;
constexpr std::int64_t kLeastTilesAPart = 8;

std::int64_t tiles_of(const WorkItem& item) {
  return (item.slot_end - item.slot_begin + kTileKeys - 1) / kTileKeys;
}

std::int64_t cost_of(const WorkItem& item, int group) {
  return tiles_of(item) * (std::int64_t{item.tokens} * group + kTileOverhead) + kTileOverhead;
}

/// Narrows the slots to those that a row may see, where slots and positions agree.
void narrow(const AttentionShape& shape, const StepBatch& step, const Request& request,
            WorkItem& item) {
  item.slot_end = request.kv_len;
  if (step.layout == KvLayout::paged && step.tables.positions != nullptr) return;
  const std::int64_t first = request.q_start + item.token;
  const PositionRange seen = Mask(shape).seen_from({first, first + item.tokens - 1});
  item.slot_end = std::clamp(seen.last + 1, std::int64_t{0}, item.slot_end);
  item.slot_begin = std::clamp(seen.first, std::int64_t{0}, item.slot_end) / kTileKeys * kTileKeys;
}

std::vector<WorkItem> cut_rows(const AttentionShape& shape, const StepBatch& step,
                               const std::vector<Request>& requests, int tile_rows) {
  const int tile_tokens = std::max(1, tile_rows / shape.group_size());
  std::vector<WorkItem> items;
  for (const Request& request : requests) {
    for (std::int32_t token = 0; token < request.q_len; token += tile_tokens) {
      for (int kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
        WorkItem item{.request = static_cast<std::int32_t>(request.index),
                      .kv_head = kv_head,
                      .token = token,
                      .tokens = std::min(tile_tokens, request.q_len - token)};
        narrow(shape, step, request, item);
        items.push_back(item);
      }
    }
  }
  return items;
}

/// Where the keys of an item are cut: equal numbers of tiles, or the fixed places.
std::vector<std::int64_t> cuts_of(const WorkItem& item, std::int64_t parts,
                                  std::int64_t fixed_split) {
  std::vector<std::int64_t> cuts = {item.slot_begin};
  if (fixed_split > 0) {
    for (std::int64_t at = (item.slot_begin / fixed_split + 1) * fixed_split; at < item.slot_end;
         at += fixed_split)
      cuts.push_back(at);
  } else {
    const std::int64_t tiles = tiles_of(item);
    for (std::int64_t part = 1; part < parts; ++part)
      cuts.push_back(item.slot_begin + tiles * part / parts * kTileKeys);
  }
  cuts.push_back(item.slot_end);
  return cuts;
}

void append_parts(const WorkItem& item, const std::vector<std::int64_t>& cuts, int rows,
                  WorkList& list) {
  const auto parts = static_cast<std::int32_t>(cuts.size() - 1);
  list.splits.push_back(
      {item.request, item.kv_head, item.token, item.tokens, list.part_rows, parts});
  for (std::int32_t part = 0; part < parts; ++part) {
    WorkItem piece = item;
    piece.slot_begin = cuts[part];
    piece.slot_end = cuts[part + 1];
    piece.part_row = list.part_rows;
    list.part_rows += rows;
    list.items.push_back(piece);
  }
}

}  // namespace

WorkList make_work_list(const AttentionShape& shape, const StepBatch& step,
                        const std::vector<Request>& requests, const CuttingRules& rules) {
  const std::vector<WorkItem> whole = cut_rows(shape, step, requests, rules.tile_rows);
  const int group = shape.group_size();
  std::int64_t total = 0;
  for (const WorkItem& item : whole) total += cost_of(item, group);
  const std::int64_t target = std::max<std::int64_t>(1, total / (rules.threads * kItemsPerThread));

  WorkList list;
  for (const WorkItem& item : whole) {
    const std::int64_t cost = cost_of(item, group);
    const std::int64_t wanted = (cost + target - 1) / target;
    const std::int64_t parts = std::min(wanted, tiles_of(item) / kLeastTilesAPart);
    if (rules.threads == 1 || cost * 3 <= target * 4 || parts < 2) {
      list.items.push_back(item);
      continue;
    }
    const int rows = item.tokens * group;
    const std::vector<std::int64_t> cuts = cuts_of(item, parts, rules.fixed_split);
    const auto needed = static_cast<std::int64_t>(cuts.size() - 1) * rows;
    if (cuts.size() == 2 || list.part_rows + needed > rules.most_part_rows())
      list.items.push_back(item);
    else
      append_parts(item, cuts, rows, list);
  }
  std::stable_sort(list.items.begin(), list.items.end(), [&](const WorkItem& a, const WorkItem& b) {
    return cost_of(a, group) > cost_of(b, group);
  });
  return list;
}

}  // namespace headwise::tiled
