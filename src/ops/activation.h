#pragma once

#include "headwise/tensor_view.h"

namespace headwise {

/// y = silu(gate) * up, silu(z) = z / (1 + e^-z); all f32 [tokens, width]; y may be gate.
/// Throws Error(invalid_input) where sizes differ. Source: Shazeer 2020 (SwiGLU), equation 6.
void silu_mul(const TensorView& gate, const TensorView& up, const MutableTensorView& y);

/// y = gelu(gate) * up with the approximation gelu(z) = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715
/// z^3))); otherwise as silu_mul. Source: Hendrycks and Gimpel 2016, section 2; Shazeer 2020
/// (GEGLU).
void gelu_mul(const TensorView& gate, const TensorView& up, const MutableTensorView& y);

}  // namespace headwise
