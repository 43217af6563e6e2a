#pragma once

#include <cstdint>

#include "headwise/tensor_view.h"

namespace headwise {

/// What a matrix product does with what `y` held.
enum class Into : std::uint8_t { overwrite, add };

/// y[m, n] = x[m, k] w[n, k]^T, or y += with Into::add (a residual). All f32, rows dense.
/// Throws Error(invalid_input) where types or sizes do not fit.
void linear(const TensorView& x, const TensorView& w, const MutableTensorView& y,
            Into into = Into::overwrite);

}  // namespace headwise
