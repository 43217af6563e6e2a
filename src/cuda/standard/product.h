#pragma once

#include <cstdint>
#include <memory>

#include "cuda/standard/blas_lt.h"
#include "headwise/dtype.h"

namespace headwise::cuda::standard {

/// C[b] = A[b] B[b], or A[b] B[b]^T: row-major matrices, A and B of `type`, C f32. Distances are in
/// elements.
struct ProductSize {
  DType type = DType::f32;
  bool b_transposed = false;  ///< B is [n, k], else [k, n]
  std::int64_t batch = 0;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_row = 0, b_row = 0, c_row = 0;        ///< from a row to the next
  std::int64_t a_batch = 0, b_batch = 0, c_batch = 0;  ///< from a matrix to the next

  friend auto operator<=>(const ProductSize&, const ProductSize&) = default;
};

/// One product by cuBLASLt, its kernel chosen beforehand. Sums are in F32 and in one sequence (no
/// split over k), F32 operands are multiplied as such: same inputs, same bits.
class Product {
 public:
  /// `device` is the current one. `workspace_bytes` are what run() will be given. Throws
  /// Error(not_possible) where cuBLASLt has no kernel.
  Product(const BlasLt& blas, int device, const ProductSize& size, std::int64_t workspace_bytes);

  /// All pointers are aligned to 256 bytes and on the device.
  void run(const void* a, const void* b, float* c, void* workspace, cudaStream_t stream) const;

 private:
  /// A descriptor of cuBLASLt's, destroyed by its own function.
  template <class Handle>
  using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;
  using Layout = Owned<cublasLtMatrixLayout_t>;

  Layout layout(cudaDataType type, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                std::int64_t batch_stride, std::int64_t batch) const;
  void choose(std::int64_t workspace_bytes);

  const BlasLt& blas_;
  cublasLtHandle_t handle_;
  Owned<cublasLtMatmulDesc_t> operation_;
  Layout a_, b_, c_;
  cublasLtMatmulHeuristicResult_t choice_{};
};

}  // namespace headwise::cuda::standard
