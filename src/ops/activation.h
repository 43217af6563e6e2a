#pragma once

#include "headwise/tensor_view.h"

namespace headwise {

/// y = silu(gate) * up, silu(z) = z / (1 + e^-z); all f32 [tokens, width]; y may be gate.
/// Throws Error(invalid_input) where sizes differ. Source: Shazeer 2020 (SwiGLU), equation 6.
void silu_mul(const TensorView& gate, const TensorView& up, const MutableTensorView& y);

}  // namespace headwise
