#include "kv/page_pool.h"

#include <limits>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::int64_t kAlignment = 64;  // bytes; a cache line, and an AVX-512 register

void check_shape(const PoolShape& shape) {
  check(shape.layers > 0, "layers must be above 0, is ", shape.layers);
  check(shape.kv_heads > 0, "kv_heads must be above 0, is ", shape.kv_heads);
  check(shape.head_dim_qk > 0, "head_dim_qk must be above 0, is ", shape.head_dim_qk);
  check(shape.head_dim_v > 0, "head_dim_v must be above 0, is ", shape.head_dim_v);
  check(shape.page_size > 0, "page_size must be above 0, is ", shape.page_size);
  check(!is_8_bit(shape.type), "pages of ", name_of(shape.type), " are not supported yet");
  check(shape.pages > 0 && shape.pages <= std::numeric_limits<std::int32_t>::max(),
        "pages must be 1 to 2147483647, is ", shape.pages);
}

/// pages * kv_heads * page_size * dim elements of K or V of a layer, in bytes, rounded up so that
/// what follows is aligned.
std::int64_t region_bytes(const PoolShape& shape, int dim) {
  std::int64_t bytes = size_of(shape.type);
  for (const std::int64_t factor : {shape.pages, std::int64_t{shape.kv_heads},
                                    std::int64_t{shape.page_size}, std::int64_t{dim}}) {
    check(!__builtin_mul_overflow(bytes, factor, &bytes), "a pool of ", shape.pages,
          " pages is larger than memory can be");
  }
  check(bytes <= std::numeric_limits<std::int64_t>::max() / 4 / shape.layers, "a pool of ",
        shape.pages, " pages is larger than memory can be");
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

PagePool::PagePool(const PoolShape& shape) : shape_(shape) {
  check_shape(shape);
  k_bytes_ = region_bytes(shape, shape.head_dim_qk);
  layer_bytes_ = k_bytes_ + region_bytes(shape, shape.head_dim_v);
  memory_ = allocate_aligned(bytes());
  taken_.resize(static_cast<std::size_t>(shape.pages));
  free_.reserve(taken_.size());
  for (std::int64_t page = shape.pages; page-- > 0;) {
    free_.push_back(static_cast<std::int32_t>(page));
  }
}

void PagePool::take(std::int64_t count, std::vector<std::int32_t>& pages) {
  if (count > free_pages()) {
    throw Error(ErrorCode::not_possible, concat("out of KV pages: ", count, " needed, ",
                                                free_pages(), " free of ", shape_.pages));
  }
  pages.reserve(pages.size() + static_cast<std::size_t>(count));
  for (; count > 0; --count) {
    pages.push_back(free_.back());
    taken_[static_cast<std::size_t>(free_.back())] = true;
    free_.pop_back();
  }
}

void PagePool::give_back(const std::vector<std::int32_t>& pages) {
  std::vector<bool> taken = taken_;  // a copy: a bad list must change nothing
  for (const std::int32_t page : pages) {
    check(page >= 0 && page < shape_.pages, "page ", page, " is outside of the pool's ",
          shape_.pages);
    check(taken[static_cast<std::size_t>(page)], "page ", page, " is free already");
    taken[static_cast<std::size_t>(page)] = false;
  }
  taken_.swap(taken);
  free_.insert(free_.end(), pages.begin(), pages.end());
}

MutableKvView PagePool::mutable_layer(int index) const {
  check(index >= 0 && index < shape_.layers, "layer ", index, " of ", shape_.layers);
  const auto view = [&](std::byte* data, int dim) {
    return dense(static_cast<void*>(data), shape_.type,
                 {shape_.pages, shape_.kv_heads, shape_.page_size, dim});
  };
  MutableKvView views;
  views.k = view(k(index), shape_.head_dim_qk);
  views.v = view(v(index), shape_.head_dim_v);
  return views;
}

}  // namespace headwise
