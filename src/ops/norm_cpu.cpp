#include <cmath>

#include "ops/norm.h"
#include "ops/rows.h"

namespace headwise {
namespace {

void normalise_row(const float* x, const float* weight, std::int64_t width, float epsilon,
                   float* y) {
  float squares = 0.0F;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  const float factor = 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon);
  for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * factor * weight[i];
}

}  // namespace

void rms_norm(const TensorView& x, const TensorView& weight, float epsilon,
              const MutableTensorView& y) {
  const Rows<const float> in = rows_of(x, "x");
  const Rows<const float> gain = rows_of(weight, "weight");
  const Rows<float> out = rows_of(y, "y");
  check(gain.count == 1 && gain.width == in.width, "weight is [", gain.count, ", ", gain.width,
        "], must be [1, ", in.width, "]");
  check(out.count == in.count && out.width == in.width, "y is [", out.count, ", ", out.width,
        "], must be [", in.count, ", ", in.width, "]");
#pragma omp parallel for if (in.count > 1)
  for (std::int64_t row = 0; row < in.count; ++row) {
    normalise_row(in[row], gain.data, in.width, epsilon, out[row]);
  }
}

}  // namespace headwise
