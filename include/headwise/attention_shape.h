#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headwise/dtype.h"

namespace headwise {

/// How many scales an f8e4m3 tensor has.
enum class ScaleGranularity : std::uint8_t { tensor, kv_head };

/// One layer's attention, fixed for a model's life. Layers that share one form a layer group.
///
/// out = softmax(mask(cap(scale * q k^T)), sinks) v, exactly, for each query head over its KV head.
struct AttentionShape {
  int q_heads = 0;      ///< query heads, a multiple of kv_heads
  int kv_heads = 0;     ///< query head h reads KV head h / (q_heads / kv_heads)
  int head_dim_qk = 0;  ///< elements of a query and of a key
  int head_dim_v = 0;   ///< elements of a value and of an output

  /// Type of q and of out: f32, f16 or bf16. f8e4m3 asks for FP8 products: q is stored as f8e4m3
  /// with scales, out is bf16.
  DType q_type = DType::bf16;
  DType kv_type = DType::bf16;  ///< type of K and V as stored, whatever q's type
  ScaleGranularity fp8_scale = ScaleGranularity::tensor;  ///< of q, K and V, where they are f8e4m3

  std::optional<float> scale;  ///< of the logits; absent: 1 / sqrt(head_dim_qk)

  /// A row at position p sees keys at p - window_left ... p + window_right; -1 is unlimited.
  /// Causal is (-1, 0), full is (-1, -1). Hugging Face's sliding_window w is (w - 1, 0).
  std::int64_t window_left = -1;  ///< tokens
  std::int64_t window_right = 0;  ///< tokens

  float softcap = 0.0F;        ///< c: logits become c * tanh(s / c), before the mask; 0: none
  bool sinks = false;          ///< one more logit a query head, in the denominator only
  bool v_is_k_prefix = false;  ///< absorbed MLA: V is the first head_dim_v elements of K

  int group_size() const { return q_heads / kv_heads; }
  float logit_scale() const;  ///< scale, or its default
  DType out_type() const { return q_type == DType::f8e4m3 ? DType::bf16 : q_type; }

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// "q32:kv8:d128", with what differs from the defaults behind it:
/// ":v64:w4096:cap50:sinks:full:f8:mla".
std::string to_string(const AttentionShape& shape);

/// Throws Error(invalid_input) that names the first field out of range, and its value.
void validate(const AttentionShape& shape);

}  // namespace headwise
