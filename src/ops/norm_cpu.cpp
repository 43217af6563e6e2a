#include <cmath>

#include "core/vector_clones.h"
#include "ops/heads.h"
#include "ops/norm.h"
#include "ops/rows.h"

namespace headwise {
namespace {

HEADWISE_VECTOR_CLONES
void normalise_row(const float* x, const float* weight, std::int64_t width, float epsilon,
                   float* y) {
  float squares = 0.0F;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  const float factor = 1.0F / std::sqrt(squares / static_cast<float>(width) + epsilon);
  for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * factor * weight[i];
}

void check_weight(const Rows<const float>& gain, std::int64_t width) {
  check(gain.count == 1 && gain.width == width, "weight is [", gain.count, ", ", gain.width,
        "], must be [1, ", width, "]");
}

}  // namespace

void rms_norm(const TensorView& x, const TensorView& weight, float epsilon,
              const MutableTensorView& y) {
  const Rows<const float> in = rows_of(x, "x");
  const Rows<const float> gain = rows_of(weight, "weight");
  const Rows<float> out = rows_of(y, "y");
  check_weight(gain, in.width);
  check(out.count == in.count && out.width == in.width, "y is [", out.count, ", ", out.width,
        "], must be [", in.count, ", ", in.width, "]");
#pragma omp parallel for if (in.count > 1)
  for (std::int64_t row = 0; row < in.count; ++row) {
    normalise_row(in[row], gain.data, in.width, epsilon, out[row]);
  }
}

void rms_norm_heads(const MutableTensorView& x, const TensorView& weight, float epsilon) {
  const Heads heads = heads_of(x, "x");
  const Rows<const float> gain = rows_of(weight, "weight");
  check_weight(gain, heads.dim);
#pragma omp parallel for if (heads.tokens > 1)
  for (std::int64_t token = 0; token < heads.tokens; ++token) {
    for (std::int64_t h = 0; h < heads.count; ++h) {
      float* head = heads.head(token, h);
      normalise_row(head, gain.data, heads.dim, epsilon, head);
    }
  }
}

}  // namespace headwise
