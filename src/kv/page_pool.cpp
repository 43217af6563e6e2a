#include "kv/page_pool.h"

#include <limits>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::int64_t kAlignment = 64;  // bytes; a cache line, and an AVX-512 register

const PoolShape& checked(const PoolShape& shape) {
  check(shape.page_size > 0, "page_size must be above 0, is ", shape.page_size);
  const std::int64_t token = kv_bytes_per_token(shape.group);
  std::int64_t bytes = 0;
  check(!__builtin_mul_overflow(token, shape.page_size, &bytes) &&
            !__builtin_mul_overflow(bytes, shape.pages, &bytes) &&
            bytes <= std::numeric_limits<std::int64_t>::max() / 2,
        "a pool of ", shape.pages, " pages is larger than memory can be");
  return shape;
}

}  // namespace

PagePool::PagePool(const PoolShape& shape, const DeviceMemory& memory)
    : shape_(checked(shape)), memory_(&memory), refs_(shape.pages) {
  const AttentionShape& attention = shape_.group.shape;
  const bool has_v = !attention.v_is_k_prefix;
  const bool has_scales = attention.kv_type == DType::i8;
  k_ = add_part(attention.kv_type, attention.head_dim_qk);
  if (has_v) v_ = add_part(attention.kv_type, attention.head_dim_v);
  if (has_scales) k_scale_ = add_part(DType::f32, 1);
  if (has_scales && has_v) v_scale_ = add_part(DType::f32, 1);
  page_bytes_ = kv_bytes_per_token(shape_.group) * shape_.page_size;
  data_ = memory.allocate(layer_bytes_ * shape_.group.layers);
}

PagePool::Part PagePool::add_part(DType type, int dim) {
  const std::int64_t page_bytes =
      std::int64_t{shape_.group.shape.kv_heads} * shape_.page_size * dim * size_of(type);
  const Part part{type, dim, layer_bytes_, page_bytes};
  layer_bytes_ += (page_bytes * shape_.pages + kAlignment - 1) / kAlignment * kAlignment;
  return part;
}

MutableTensorView PagePool::view(const Part& part, int layer, bool has_dim) const {
  if (part.dim == 0) return {};
  std::byte* data = data_.get() + layer * layer_bytes_ + part.offset;
  const std::int64_t heads = shape_.group.shape.kv_heads;
  const Device device = memory_->device();
  return has_dim ? dense(data, part.type, {shape_.pages, heads, shape_.page_size, part.dim}, device)
                 : dense(data, part.type, {shape_.pages, heads, shape_.page_size}, device);
}

MutableKvView PagePool::layer(int index) const {
  check(index >= 0 && index < shape_.group.layers, "layer ", index, " of a group of ",
        shape_.group.layers);
  return {.k = view(k_, index, true),
          .v = view(v_, index, true),
          .k_scale = view(k_scale_, index, false),
          .v_scale = view(v_scale_, index, false)};
}

void PagePool::copy_page(std::int32_t to, std::int32_t from, void* stream) const {
  for (const Part& part : {k_, v_, k_scale_, v_scale_}) {
    if (part.dim == 0) continue;
    std::byte* first = data_.get() + part.offset;
    memory_->copy_rows(first + to * part.page_bytes, first + from * part.page_bytes,
                       part.page_bytes, layer_bytes_, shape_.group.layers, stream);
  }
}

}  // namespace headwise
