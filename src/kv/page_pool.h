#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_memory.h"
#include "headwise/append_kv.h"

namespace headwise {

/// What one layer group keeps: one page id stands for `page_size` tokens of every layer.
struct PoolShape {
  int layers = 0;
  int kv_heads = 0;
  int head_dim_qk = 0;      ///< elements of a key
  int head_dim_v = 0;       ///< elements of a value
  DType type = DType::f32;  ///< of K and V as stored: f32, f16 or bf16
  int page_size = 0;        ///< tokens
  std::int64_t pages = 0;   ///< in all
};

/// Pages of K and V for one layer group, on the CPU: a layer's K is [pages, kv_heads, page_size,
/// head_dim_qk], its V the same with head_dim_v. Owns the memory, all of it from the start; pages
/// are handed out and taken back by number. Not for several threads at once.
class PagePool {
 public:
  /// Throws Error(invalid_input) that names a field out of range, Error(not_possible) where memory
  /// is too small.
  explicit PagePool(const PoolShape& shape);

  const PoolShape& shape() const { return shape_; }
  std::int64_t bytes() const { return layer_bytes_ * shape_.layers; }  ///< held, exactly
  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }

  /// Appends `count` page numbers to `pages`. Throws Error(not_possible), with what is needed and
  /// what is free, where they are too few; nothing has changed then.
  void take(std::int64_t count, std::vector<std::int32_t>& pages);
  /// Takes back pages that take() gave. Throws Error(invalid_input) where one is free or outside;
  /// nothing has changed then.
  void give_back(const std::vector<std::int32_t>& pages);

  /// A layer's K and V, for Backend::bind. Throws Error(invalid_input) where there is no such
  /// layer.
  KvView layer(int index) const { return mutable_layer(index); }
  /// The same to write to, which the pool allows as a const one: its pages are their holders'.
  MutableKvView mutable_layer(int index) const;

  std::byte* k(int index) const { return memory_.get() + index * layer_bytes_; }
  std::byte* v(int index) const { return k(index) + k_bytes_; }

 private:
  PoolShape shape_;
  std::int64_t k_bytes_ = 0;      // of one layer
  std::int64_t layer_bytes_ = 0;  // K, then V
  AlignedBytes memory_;
  std::vector<std::int32_t> free_;  // the next one to hand out is the last
  std::vector<bool> taken_;         // by page
};

}  // namespace headwise
