#pragma once

#include "headwise/tensor_view.h"

namespace headwise {

/// y[t, i] = x[t, i] / sqrt(mean_i(x[t, i]^2) + epsilon) * weight[i]. x and y f32 [tokens, width]
/// (y may be x), weight f32 [1, width]. Throws Error(invalid_input) where types or sizes do not
/// fit. Source: Zhang and Sennrich 2019, equation 4.
void rms_norm(const TensorView& x, const TensorView& weight, float epsilon,
              const MutableTensorView& y);

/// The same of each head of x, f32 [tokens, heads, head_dim] with heads densely packed, in place;
/// weight is [1, head_dim].
void rms_norm_heads(const MutableTensorView& x, const TensorView& weight, float epsilon);

}  // namespace headwise
