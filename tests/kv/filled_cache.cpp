#include "tests/kv/filled_cache.h"

#include <numeric>

#include "headwise/registry.h"
#include "tests/kv/new_rows.h"

namespace headwise {
namespace {

std::int64_t tokens_of(const KvStep& step) {
  return std::accumulate(step.q_lens().begin(), step.q_lens().end(), 0LL);
}

}  // namespace

AttentionShape small_shape(DType q_type, DType kv_type, std::int64_t window_left) {
  return {.q_heads = 6,
          .kv_heads = 2,
          .head_dim_qk = 32,
          .head_dim_v = 32,
          .q_type = q_type,
          .kv_type = kv_type,
          .window_left = window_left};
}

FilledCache::FilledCache(const KvCacheOptions& options) : cache_(options) {
  for (int group = 0; group < cache_.groups(); ++group)
    for (int layer = 0; layer < options.groups[std::size_t(group)].group.layers; ++layer)
      if (shape(group).kv_type == DType::f8e4m3)
        cache_.set_scales(group, layer, std::vector{4.0F / 448}, std::vector{7.0F / 448});
}

std::size_t FilledCache::add(std::int32_t tokens) {
  ids_.push_back(cache_.create());
  texts_.emplace_back();
  if (tokens > 0) grow(ids_.size() - 1, tokens);
  return ids_.size() - 1;
}

std::size_t FilledCache::fork(std::size_t sequence) {
  ids_.push_back(cache_.fork(ids_[sequence]));
  texts_.push_back(TokenText(texts_[sequence]));
  return ids_.size() - 1;
}

void FilledCache::truncate(std::size_t sequence, std::int32_t length) {
  cache_.truncate(ids_[sequence], length);
  texts_[sequence].cut(length);
}

void FilledCache::free(std::size_t sequence) { cache_.free(ids_[sequence]); }

KvStep FilledCache::begin(const std::vector<Growth>& growths) {
  std::vector<KvRequest> requests;
  for (const auto& [sequence, tokens] : growths) {
    for (int i = 0; i < tokens; ++i) texts_[sequence].push(std::int32_t(rng_.below(1 << 20)));
    requests.push_back({.sequence = ids_[sequence], .new_tokens = tokens});
  }
  KvStep step = cache_.begin(requests);
  for (int group = 0; group < cache_.groups(); ++group)
    for (int layer = 0; layer < cache_.options().groups[std::size_t(group)].group.layers; ++layer)
      append(step, growths, group, layer);
  return step;
}

void FilledCache::append(KvStep& step, const std::vector<Growth>& growths, int group, int layer) {
  const AttentionShape& s = shape(group);
  std::vector<std::uint64_t> fresh;
  for (const auto& [sequence, tokens] : growths) {
    const auto pasts = texts_[sequence].pasts().last(std::size_t(tokens));
    fresh.insert(fresh.end(), pasts.begin(), pasts.end());
  }
  NewRows rows = rows_of(s, layer, fresh);
  const auto row = std::size_t(s.kv_heads * s.head_dim_qk);
  std::size_t at = 0;
  for (const auto& [sequence, tokens] : growths)
    for (std::int32_t i = 0; i < tokens; ++i, at += row)
      if (edit_)
        edit_(group, layer, sequence, texts_[sequence].length() - tokens + i,
              std::span(rows.k).subspan(at, row));
  step.append_kv(Registry::builtin().find("cpu-portable"), group, layer, rows.k_view(s),
                 rows.v_view(s));
}

std::vector<float> FilledCache::queries(const KvStep& step, int group) {
  const AttentionShape& s = shape(group);
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < tokens_of(step) * s.q_heads * s.head_dim_qk; ++i)
    numbers.push_back(float(rng_.uniform(-1.0, 1.0)));
  return numbers;
}

StoredKeys FilledCache::stored(const KvStep& step, int group, int layer,
                               std::size_t request) const {
  const BlockTables tables = step.tables(group);
  return {.kv = cache_.layer(group, layer),
          .scales = scales_of(cache_, group, layer),
          .page_size = tables.page_size,
          .table = tables.pages + std::int64_t(request) * tables.request_stride,
          .kv_len = step.kv_lens()[request]};
}

}  // namespace headwise
