#pragma once

#include <string_view>

#include "headwise/attention_shape.h"
#include "headwise/step_batch.h"
#include "headwise/tensor_view.h"

namespace headwise {

/// One layer's K and V where they lie. K and V have strides of their own; the last one is 1.
struct KvView {
  TensorView k;  ///< paged [pages, kv_heads, page_size, head_dim_qk]; packed [tokens, kv_heads,
                 ///< head_dim_qk]
  TensorView v;  ///< the same with head_dim_v; absent where shape.v_is_k_prefix
  TensorView
      k_scale;  ///< i8 only: f32, paged [pages, kv_heads, page_size]; packed [tokens, kv_heads]
  TensorView v_scale;  ///< i8 only, as k_scale; absent where shape.v_is_k_prefix
};

/// Throws Error(invalid_input) that names the view and what is wrong with it.
void validate(const AttentionShape& shape, const KvView& kv, KvLayout layout);

/// A layer's K and V, bound to a backend once: derived classes hold what the backend wants to keep
/// about them (tensor maps). Made by Backend::bind; the memory stays the caller's and must outlive
/// it.
class KvBinding {
 public:
  KvBinding(std::string_view backend, KvLayout layout, const KvView& view)
      : backend_(backend), layout_(layout), view_(view) {}
  virtual ~KvBinding() = default;
  KvBinding(const KvBinding&) = delete;
  KvBinding& operator=(const KvBinding&) = delete;

  std::string_view backend() const { return backend_; }
  KvLayout layout() const { return layout_; }
  const KvView& view() const { return view_; }

 private:
  std::string_view backend_;
  KvLayout layout_;
  KvView view_;
};

}  // namespace headwise
