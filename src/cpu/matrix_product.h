#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "headwise/dtype.h"

namespace headwise {

/// C[b] = A[b] B[b] for densely packed matrices, or A[b] B[b]^T, by oneDNN. A and B are f32 or
/// bf16, C is f32. Made once for a size; runs on the OpenMP threads that the caller allows.
class MatrixProduct {
 public:
  struct Size {
    std::int64_t batch = 0;
    std::int64_t m = 0, n = 0, k = 0;  ///< A [m, k]; B [k, n], or [n, k] where transposed; C [m, n]
    bool b_transposed = false;
  };

  MatrixProduct(const Size& size, DType type);

  void run(const void* a, const void* b, float* c);

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory a_, b_, c_;
  dnnl::matmul primitive_;
};

}  // namespace headwise
