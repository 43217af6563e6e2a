#include "cpu/tiled/key_reader.h"

#include <algorithm>
#include <limits>

namespace headwise::tiled {

KeyReader::Rows::Rows(const TensorView& view, KvLayout layout, int kv_head) {
  if (!view) return;
  const KvStrides strides(view, layout);
  const std::int64_t bytes = size_of(view.dtype);
  base = static_cast<const std::byte*>(view.data) + kv_head * strides.head * bytes;
  page = strides.page * bytes;
  token = strides.token * bytes;
}

KeyReader::KeyReader(const AttentionShape& shape, const StepBatch& step, const KvView& kv,
                     const Request& request, int kv_head, const PositionRange& seen,
                     const std::byte* zeros)
    : step_(step),
      request_(request),
      seen_(seen),
      k_(kv.k, step.layout, kv_head),
      v_(shape.v_is_k_prefix ? kv.k : kv.v, step.layout, kv_head),
      k_scale_(kv.k_scale, step.layout, kv_head),
      v_scale_(shape.v_is_k_prefix ? kv.k_scale : kv.v_scale, step.layout, kv_head),
      scaled_(shape.kv_type == DType::i8),
      zeros_(zeros) {
  const BlockTables& tables = step.tables;
  table_row_ =
      request.index * tables.request_stride + (tables.heads > 1 ? kv_head * tables.head_stride : 0);
}

/// The slots from `slot` on that lie in one page, its number not yet looked up.
KeyRun KeyReader::piece(std::int64_t slot, std::int64_t end) const {
  if (step_.layout == KvLayout::packed)
    return {slot, end - slot, slot, 0, step_.kv_start[request_.index] + slot};
  const std::int64_t page_size = step_.tables.page_size;
  const std::int64_t entry = slot / page_size;
  const std::int64_t token = slot - entry * page_size;
  const std::int32_t* positions = step_.tables.positions;
  const std::int64_t position = positions != nullptr ? positions[table_row_ + entry] + token : slot;
  return {slot, std::min(end - slot, page_size - token), position, 0, token};
}

/// The keys of `all` that may be seen, their page looked up where there are any.
KeyRun KeyReader::seen_part(const KeyRun& all) const {
  KeyRun run = all.within(seen_);
  if (run.count > 0 && step_.layout == KvLayout::paged)
    run.page = step_.tables.pages[table_row_ + all.slot / step_.tables.page_size];
  return run;
}

/// The scales of a tile are read before its keys are multiplied, so that nothing hides their way
/// from memory.
void KeyReader::fetch_scales(std::int64_t slot) const {
  constexpr int kLine = 64;  // bytes
  const std::int64_t end = std::min<std::int64_t>(slot + kTileKeys, request_.kv_len);
  for (std::int64_t at = slot; at < end;) {
    const KeyRun all = piece(at, end);
    const KeyRun run = seen_part(all);
    for (const Rows* rows : {&k_scale_, &v_scale_}) {
      const int step = rows->token == sizeof(float) ? kLine / sizeof(float) : 1;
      for (std::int64_t i = 0; i < run.count; i += step)
        __builtin_prefetch(rows->at(run) + i * rows->token);
    }
    at += all.count;
  }
}

void KeyReader::read(std::int64_t slot, KeyTile& tile) const {
  if (scaled_) fetch_scales(slot + kTileKeys);
  tile.first_position = std::numeric_limits<std::int32_t>::max();
  tile.last_position = std::numeric_limits<std::int32_t>::min();
  tile.columns = 0;
  int done = 0;
  const std::int64_t end = std::min<std::int64_t>(slot + kTileKeys, request_.kv_len);
  for (std::int64_t at = slot; at < end;) {
    const KeyRun all = piece(at, end);
    const KeyRun run = seen_part(all);
    if (run.count > 0) {
      fill_dead(done, static_cast<int>(run.slot - slot), tile);
      fill_live(run, slot, tile);
      done = static_cast<int>(run.slot - slot + run.count);
    }
    at += all.count;
  }
  fill_dead(done, kTileKeys, tile);
  tile.all_live = tile.columns == kTileKeys;
}

void KeyReader::fill_live(const KeyRun& run, std::int64_t first_slot, KeyTile& tile) const {
  const auto column = static_cast<int>(run.slot - first_slot);
  const auto count = static_cast<int>(run.count);
  const auto position = static_cast<std::int32_t>(run.position);
  const std::byte* k = k_.at(run);
  const std::byte* v = v_.at(run);
  for (int i = 0; i < count; ++i) {
    tile.k[column + i] = k + i * k_.token;
    tile.v[column + i] = v + i * v_.token;
    tile.position[column + i] = position + i;
  }
  for (int i = 0; scaled_ && i < count; ++i) {
    tile.k_scale[column + i] =
        *reinterpret_cast<const float*>(k_scale_.at(run) + i * k_scale_.token);
    tile.v_scale[column + i] =
        *reinterpret_cast<const float*>(v_scale_.at(run) + i * v_scale_.token);
  }
  tile.first_position = std::min(tile.first_position, position);
  tile.last_position = std::max(tile.last_position, position + (count - 1));
  tile.columns += count;
}

void KeyReader::fill_dead(int begin, int end, KeyTile& tile) const {
  for (int i = begin; i < end; ++i) {
    tile.k[i] = tile.v[i] = zeros_;
    tile.position[i] = kNowhere;
    tile.k_scale[i] = tile.v_scale[i] = 0.0F;
  }
}

}  // namespace headwise::tiled
