#pragma once

#include <span>

#include "headwise/tensor_view.h"

namespace headwise {

/// Attention over one part of the keys, without sinks. An empty part has lse = -inf, and its out is
/// not read there.
struct PartialResult {
  TensorView out;  ///< f32 [tokens, q_heads, head_dim_v]
  TensorView lse;  ///< f32 [tokens, q_heads], natural log
};

/// The whole from parts over disjoint keys, by the online-softmax rule, in the order given; sinks
/// (one logit a query head, or null) are applied once, here. A row whose parts are all empty but
/// one is that part's bit for bit; a row without any part is 0 with lse -inf (with a sink: the
/// sink). `out` is f32, f16 or bf16; `lse` may be absent. Throws Error(invalid_input). Source:
/// Milakov and Gimelshein 2018, section 3; FlashAttention-2 (Dao 2023), section 3.1.
void merge(std::span<const PartialResult> parts, const float* sinks, const MutableTensorView& out,
           const MutableTensorView& lse = {});

}  // namespace headwise
