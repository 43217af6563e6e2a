#pragma once

#include <span>
#include <vector>

#include "headwise/attention_shape.h"
#include "headwise/tensor_view.h"
#include "tests/kv/token_numbers.h"

namespace headwise {

/// K and V of a layer's new tokens, before they are stored.
struct NewRows {
  std::vector<float> k;  ///< [tokens, kv_heads, head_dim_qk]
  std::vector<float> v;  ///< [tokens, kv_heads, head_dim_v]
  std::int64_t tokens = 0;

  TensorView k_view(const AttentionShape& s) const {
    return dense(k.data(), DType::f32, {tokens, s.kv_heads, s.head_dim_qk});
  }
  TensorView v_view(const AttentionShape& s) const {
    return dense(v.data(), DType::f32, {tokens, s.kv_heads, s.head_dim_v});
  }
};

inline NewRows constant_rows(const AttentionShape& s, std::int64_t tokens, float value) {
  return {std::vector<float>(std::size_t(tokens * s.kv_heads * s.head_dim_qk), value),
          std::vector<float>(std::size_t(tokens * s.kv_heads * s.head_dim_v), value), tokens};
}

/// Of tokens with these pasts; heads differ in magnitude, and V from K.
inline NewRows rows_of(const AttentionShape& s, int layer, std::span<const std::uint64_t> pasts) {
  NewRows rows;
  rows.tokens = std::int64_t(pasts.size());
  add_token_rows(pasts, s, {0, layer, false}, rows.k);
  add_token_rows(pasts, s, {0, layer, true}, rows.v);
  const auto scale = [&](std::vector<float>& numbers, int dim, float factor) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] *= factor * float(1 + i / std::size_t(dim) % std::size_t(s.kv_heads));
  };
  scale(rows.k, s.head_dim_qk, 0.7F);
  scale(rows.v, s.head_dim_v, 3.0F);
  return rows;
}

}  // namespace headwise
