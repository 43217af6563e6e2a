#pragma once

#include <cstdint>

#include "core/aligned_memory.h"
#include "headwise/tensor_view.h"
#include "model/model_config.h"

namespace headwise {

/// A step's activations, f32 but for q_rounded: views into the buffers, cut to its tokens.
struct Activations {
  MutableTensorView residual;   ///< [tokens, width]
  MutableTensorView normed;     ///< [tokens, width]
  MutableTensorView qkv;        ///< [tokens, (q_heads + 2 kv_heads) head_dim]
  MutableTensorView q, k, v;    ///< of qkv: [tokens, heads, head_dim]
  MutableTensorView q_rounded;  ///< [tokens, q_heads, head_dim], bf16
  MutableTensorView attended;   ///< [tokens, q_heads head_dim]
  MutableTensorView gate_up;    ///< [tokens, 2 ffn_width]
  MutableTensorView gate, up;   ///< of gate_up: [tokens, ffn_width]
};

/// Memory for the activations of steps of at most `max_tokens` tokens.
class StepBuffers {
 public:
  StepBuffers(const ModelConfig& config, std::int64_t max_tokens);

  Activations of(std::int64_t tokens) const;

 private:
  std::int64_t width_, q_width_, kv_width_, ffn_width_;
  int head_dim_;
  AlignedBytes residual_, normed_, qkv_, q_rounded_, attended_, gate_up_;
};

/// [tokens, heads * dim] as [tokens, heads, dim].
MutableTensorView as_heads(MutableTensorView matrix, int dim);

/// Rows first ... first + count - 1 of a matrix of f32.
MutableTensorView row_range(MutableTensorView matrix, std::int64_t first, std::int64_t count);

}  // namespace headwise
