#pragma once

#include <cstdint>
#include <memory>

#include "headwise/append_kv.h"
#include "headwise/device_memory.h"
#include "headwise/kv_memory.h"
#include "kv/page_refs.h"

namespace headwise {

/// What a pool holds: one page id stands for `page_size` tokens of every layer of the group.
struct PoolShape {
  LayerGroup group;
  int page_size = 16;  ///< tokens
  std::int64_t pages = 0;
};

/// The pages of one layer group on one device. A layer's K is [pages, kv_heads, page_size,
/// head_dim_qk], its V the same with head_dim_v (none for absorbed MLA), an int8 layer's scales are
/// [pages, kv_heads, page_size]; layers lie one behind the other. Owns the memory, all of it from
/// the start.
class PagePool {
 public:
  /// Throws Error(invalid_input) that names a field out of range, Error(not_possible) where memory
  /// is too small. `memory` must outlive it.
  PagePool(const PoolShape& shape, const DeviceMemory& memory);

  const PoolShape& shape() const { return shape_; }
  PageRefs& refs() { return refs_; }
  const PageRefs& refs() const { return refs_; }

  std::int64_t page_bytes() const { return page_bytes_; }            ///< of all layers
  std::int64_t bytes() const { return page_bytes_ * shape_.pages; }  ///< of all pages

  /// A layer's K and V to write to: of a const pool, too, since pages are their holders'. Throws
  /// Error(invalid_input) where there is no such layer.
  MutableKvView layer(int index) const;

  /// Copies all that a page holds, in every layer. Both numbers are the pool's.
  void copy_page(std::int32_t to, std::int32_t from, void* stream) const;

 private:
  /// K, V, or their scales, of a layer: where it begins in the layer, and what it has of a page.
  struct Part {
    DType type = DType::f32;
    int dim = 0;              ///< elements a token and KV head; 0: the part is absent
    std::int64_t offset = 0;  ///< bytes
    std::int64_t page_bytes = 0;
  };

  Part add_part(DType type, int dim);
  MutableTensorView view(const Part& part, int layer, bool has_dim) const;

  PoolShape shape_;
  const DeviceMemory* memory_;
  Part k_, v_, k_scale_, v_scale_;
  std::int64_t page_bytes_ = 0;
  std::int64_t layer_bytes_ = 0;  // rounded up, so that every part is aligned
  PageRefs refs_;
  std::shared_ptr<std::byte> data_;
};

}  // namespace headwise
