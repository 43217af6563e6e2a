#include "ops/bf16_rows.h"
#include "ops/elementwise.h"
#include "ops/heads.h"
#include "ops/rows.h"

namespace headwise {
void add(const TensorView& x, const MutableTensorView& y) {
  const Rows<const float> in = rows_of(x, "x");
  const Rows<float> out = rows_of(y, "y");
  check((in.count == 1 || in.count == out.count) && in.width == out.width, "x is [", in.count, ", ",
        in.width, "], y [", out.count, ", ", out.width, "]");
#pragma omp parallel for if (out.count > 1)
  for (std::int64_t row = 0; row < out.count; ++row) {
    const float* from = in[in.count == 1 ? 0 : row];
    for (std::int64_t i = 0; i < out.width; ++i) out[row][i] += from[i];
  }
}

void round_heads(const MutableTensorView& x, const MutableTensorView& y) {
  const Heads heads = heads_of(x, "x");
  const std::int64_t width = heads.count * heads.dim;
  const bool fits = y.rank == 3 && y.dtype == DType::bf16 && y.sizes == x.sizes &&
                    y.strides[2] == 1 && y.strides[1] == heads.dim && y.strides[0] == width;
  if (!fits) check(false, "y must be dense bf16 of x's sizes, is ", to_string(y));
  auto* out = static_cast<std::uint16_t*>(y.data);
#pragma omp parallel for if (heads.tokens > 1)
  for (std::int64_t token = 0; token < heads.tokens; ++token)
    round_to_bf16(heads.head(token, 0), out + token * width, width);
}

}  // namespace headwise
