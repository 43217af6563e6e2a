#include <cmath>

#include "ops/activation.h"
#include "ops/rows.h"

namespace headwise {

void silu_mul(const TensorView& gate, const TensorView& up, const MutableTensorView& y) {
  const Rows<const float> g = rows_of(gate, "gate");
  const Rows<const float> u = rows_of(up, "up");
  const Rows<float> out = rows_of(y, "y");
  check(u.count == g.count && u.width == g.width, "up is [", u.count, ", ", u.width, "], gate is [",
        g.count, ", ", g.width, "]");
  check(out.count == g.count && out.width == g.width, "y is [", out.count, ", ", out.width,
        "], gate is [", g.count, ", ", g.width, "]");
#pragma omp parallel for if (g.count > 1)
  for (std::int64_t row = 0; row < g.count; ++row) {
    for (std::int64_t i = 0; i < g.width; ++i) {
      out[row][i] = g[row][i] / (1.0F + std::exp(-g[row][i])) * u[row][i];
    }
  }
}

}  // namespace headwise
