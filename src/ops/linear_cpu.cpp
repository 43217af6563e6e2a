#include <dnnl.h>

#include "core/signals_held.h"
#include "ops/linear.h"
#include "ops/rows.h"

namespace headwise {

// dnnl_sgemm rather than the matmul primitive: it needs no primitive for every new m (0.5 to 1 ms
// each) and reads the weights of a single row faster (1.4 to 2 times at m = 1); from m = 64 on the
// two are equal.
void linear(const TensorView& x, const TensorView& w, const MutableTensorView& y, Into into) {
  const Rows<const float> in = rows_of(x, "x");
  const Rows<const float> weight = rows_of(w, "w");
  const Rows<float> out = rows_of(y, "y");
  check(weight.width == in.width, "w has rows of ", weight.width, " elements, x of ", in.width);
  check(out.count == in.count && out.width == weight.count, "y is [", out.count, ", ", out.width,
        "], must be [", in.count, ", ", weight.count, "]");
  if (in.count == 0) return;
  const float beta = into == Into::add ? 1.0F : 0.0F;
  const SignalsHeld held;
  const dnnl_status_t status =
      dnnl_sgemm('N', 'T', in.count, weight.count, in.width, 1.0F, in.data, in.stride, weight.data,
                 weight.stride, beta, out.data, out.stride);
  check(status == dnnl_success, "oneDNN's sgemm failed with status ", static_cast<int>(status));
}

}  // namespace headwise
