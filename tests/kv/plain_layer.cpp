#include "tests/kv/plain_layer.h"

#include <algorithm>
#include <numeric>

#include "headwise/device_memory.h"
#include "headwise/registry.h"

namespace headwise {

PlainLayer::PlainLayer(const AttentionShape& shape, const NumberPlace& place, int page_size,
                       const std::vector<const TokenText*>& texts, const RunArgs& scales)
    : shape_(shape) {
  tables_.page_size = page_size;
  tables_.columns = 1;
  for (const TokenText* text : texts) {
    lens_.push_back(text->length());
    tables_.columns = std::max(tables_.columns, pages_of(text->length()));
  }
  for (const TokenText* text : texts) add_row(pages_of(text->length()));
  tables_.request_stride = tables_.columns;
  tables_.pages = table_.data();
  make_views();
  write(place, texts, scales);
}

void PlainLayer::add_row(std::int32_t pages) {
  for (std::int32_t i = 0; i < tables_.columns; ++i)
    table_.push_back(i < pages ? std::int32_t(tables_.pool_pages++) : -1);
}

MutableTensorView PlainLayer::part(DType type, int dim) {
  const std::int64_t pages = std::max<std::int64_t>(tables_.pool_pages, 1);
  memory_.push_back(cpu_memory().allocate(pages * shape_.kv_heads * tables_.page_size *
                                          std::max(dim, 1) * size_of(type)));
  std::byte* data = memory_.back().get();
  return dim > 0 ? dense(data, type, {pages, shape_.kv_heads, tables_.page_size, dim})
                 : dense(data, type, {pages, shape_.kv_heads, tables_.page_size});
}

void PlainLayer::make_views() {
  view_.k = part(shape_.kv_type, shape_.head_dim_qk);
  view_.v = part(shape_.kv_type, shape_.head_dim_v);
  if (shape_.kv_type != DType::i8) return;
  view_.k_scale = part(DType::f32, 0);
  view_.v_scale = part(DType::f32, 0);
}

void PlainLayer::write(NumberPlace place, const std::vector<const TokenText*>& texts,
                       const RunArgs& scales) {
  std::vector<float> k, v;
  for (const TokenText* text : texts) {
    place.of_v = false;
    add_token_rows(text->pasts(), shape_, place, k);
    place.of_v = true;
    add_token_rows(text->pasts(), shape_, place, v);
  }
  const std::int64_t tokens = std::accumulate(lens_.begin(), lens_.end(), 0LL);
  AppendArgs args;
  args.k = dense(k.data(), DType::f32, {tokens, shape_.kv_heads, shape_.head_dim_qk});
  args.v = dense(v.data(), DType::f32, {tokens, shape_.kv_heads, shape_.head_dim_v});
  args.cache = view_;
  args.k_scale = scales.k_scale;
  args.v_scale = scales.v_scale;
  StepBatch step;
  step.q_lens = lens_;
  step.kv_lens = lens_;
  step.tables = tables_;
  Registry::builtin().find("cpu-portable").append_kv(shape_, step, args);
}

}  // namespace headwise
