#pragma once

#include "headwise/tensor_view.h"

namespace headwise {

/// y[t, i] += x[t, i], f32; x may be of one row, which is added to every row of y.
/// Throws Error(invalid_input) where sizes do not fit.
void add(const TensorView& x, const MutableTensorView& y);

/// x, f32 [tokens, heads, head_dim] with heads densely packed, rounded to bf16 in y, dense and of
/// the same sizes. Throws Error(invalid_input) where types or sizes do not fit.
void round_heads(const MutableTensorView& x, const MutableTensorView& y);

}  // namespace headwise
