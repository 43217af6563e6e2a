#include "kv/key_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "kv/stored_number.h"

namespace headwise {
KeyBounds::KeyBounds(const LayerGroup& group, std::int64_t pages) : group_(group), pages_(pages) {
  std::int64_t bytes = sizeof(Range);
  for (const std::int64_t factor :
       {std::int64_t{group.layers}, pages, std::int64_t{group.shape.kv_heads},
        std::int64_t{group.shape.head_dim_qk}})
    check(!__builtin_mul_overflow(bytes, factor, &bytes), "the bounds of ", pages,
          " pages are larger than memory can be");
  ranges_ = cpu_memory().allocate(bytes);
}

KeyBounds::Range* KeyBounds::of(int layer, std::int64_t page, int kv_head) const {
  const AttentionShape& shape = group_.shape;
  return reinterpret_cast<Range*>(ranges_.get()) +
         ((layer * pages_ + page) * shape.kv_heads + kv_head) * shape.head_dim_qk;
}

void KeyBounds::note_step(int layer, const StepBatch& step, const KvView& kv,
                          const float* k_scale) {
  const AttentionShape& shape = group_.shape;
  const int page_size = step.tables.page_size;
  const bool scale_a_head = shape.fp8_scale == ScaleGranularity::kv_head;
  for (std::int64_t r = 0; r < step.requests(); ++r) {
    const std::int32_t* table = step.tables.pages + r * step.tables.request_stride;
    const std::int32_t end = step.kv_lens[static_cast<std::size_t>(r)];
    std::int32_t slot = end - step.q_lens[static_cast<std::size_t>(r)];
    for (; slot < end; ++slot) {
      const std::int64_t page = table[slot / page_size];
      const std::int64_t in_page = slot % page_size;
      for (int head = 0; head < shape.kv_heads; ++head) {
        float scale = 1.0F;
        if (k_scale != nullptr) scale = k_scale[scale_a_head ? head : 0];
        if (kv.k_scale)
          scale = stored_number(kv.k_scale, page * kv.k_scale.strides[0] +
                                                head * kv.k_scale.strides[1] +
                                                in_page * kv.k_scale.strides[2]);
        note_key(of(layer, page, head), in_page == 0, kv,
                 page * kv.k.strides[0] + head * kv.k.strides[1] + in_page * kv.k.strides[2],
                 scale);
      }
    }
  }
}

void KeyBounds::note_key(Range* ranges, bool is_first, const KvView& kv, std::int64_t element,
                         float scale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int i = 0; i < group_.shape.head_dim_qk; ++i) {
    const float value = stored_number(kv.k, element + i) * scale;
    const Range now = std::isnan(value) ? Range{-kInfinity, kInfinity} : Range{value, value};
    if (is_first)
      ranges[i] = now;
    else
      ranges[i] = {std::min(ranges[i].least, now.least),
                   std::max(ranges[i].greatest, now.greatest)};
  }
}

void KeyBounds::copy_page(std::int32_t to, std::int32_t from) {
  const std::int64_t count = std::int64_t{group_.shape.kv_heads} * group_.shape.head_dim_qk;
  for (int layer = 0; layer < group_.layers; ++layer)
    std::copy_n(of(layer, from, 0), count, of(layer, to, 0));
}

float KeyBounds::bound(int layer, std::int32_t page, int kv_head, const float* query) const {
  const Range* ranges = of(layer, page, kv_head);
  float sum = 0.0F;
  for (int i = 0; i < group_.shape.head_dim_qk; ++i)
    sum += std::max(query[i] * ranges[i].least, query[i] * ranges[i].greatest);
  return std::isnan(sum) ? std::numeric_limits<float>::infinity() : sum;
}

}  // namespace headwise
