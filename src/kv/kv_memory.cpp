#include "headwise/kv_memory.h"

#include <algorithm>

#include "core/check.h"
#include "kv/kept_pages.h"

namespace headwise {
namespace {

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors)
    check(!__builtin_mul_overflow(result, factor, &result), "the bytes of K and V pass 2^63");
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  check(!__builtin_add_overflow(a, b, &a), "the bytes of K and V pass 2^63");
  return a;
}

void check_context(std::int64_t context) {
  check(context >= 0, "a context of ", context, " tokens");
}

}  // namespace

std::int64_t kv_bytes_per_token(const LayerGroup& group) {
  validate(group.shape);
  check(group.layers > 0, "layers must be above 0, is ", group.layers);
  const AttentionShape& shape = group.shape;
  const std::int64_t dims =
      std::int64_t{shape.head_dim_qk} + (shape.v_is_k_prefix ? 0 : shape.head_dim_v);
  const std::int64_t scales = shape.kv_type == DType::i8 ? (shape.v_is_k_prefix ? 1 : 2) : 0;
  return product(
      {group.layers, shape.kv_heads, dims * size_of(shape.kv_type) + scales * size_of(DType::f32)});
}

std::int64_t kept_tokens(const AttentionShape& shape, std::int64_t context) {
  check_context(context);
  if (shape.window_left < 0 || context == 0) return context;
  return std::min(context - 1, shape.window_left) + 1;
}

std::int64_t theoretical_kv_bytes(std::span<const LayerGroup> groups, std::int64_t context) {
  std::int64_t bytes = 0;
  for (const LayerGroup& group : groups)
    bytes = sum(bytes, product({kept_tokens(group.shape, context), kv_bytes_per_token(group)}));
  return bytes;
}

std::int64_t allocated_kv_bytes(std::span<const LayerGroup> groups, std::int64_t context,
                                int page_size) {
  check_context(context);
  check(page_size > 0, "page_size must be above 0, is ", page_size);
  std::int64_t bytes = 0;
  for (const LayerGroup& group : groups) {
    const std::int64_t pages =
        pages_of(context, page_size) - first_kept_page(group.shape.window_left, context, page_size);
    bytes = sum(bytes,
                product({std::max(pages, std::int64_t{0}), page_size, kv_bytes_per_token(group)}));
  }
  return bytes;
}

}  // namespace headwise
