#include "cuda/standard/product.h"

#include "core/check.h"
#include "headwise/error.h"

namespace headwise::cuda::standard {
namespace {

cudaDataType cuda_type(DType type) {
  if (type == DType::f32) return CUDA_R_32F;
  return type == DType::f16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

// cuBLASLt's matrices are column-major: it is asked for C^T = op(B)^T A^T, and what is a row to us
// is a column to it.
Product::Product(const BlasLt& blas, int device, const ProductSize& size,
                 std::int64_t workspace_bytes)
    : blas_(blas),
      handle_(blas.handle(device)),
      operation_(nullptr, blas.desc_destroy),
      a_(layout(cuda_type(size.type), size.k, size.m, size.a_row, size.a_batch, size.batch)),
      b_(layout(cuda_type(size.type), size.b_transposed ? size.k : size.n,
                size.b_transposed ? size.n : size.k, size.b_row, size.b_batch, size.batch)),
      c_(layout(CUDA_R_32F, size.n, size.m, size.c_row, size.c_batch, size.batch)) {
  // CUBLAS_COMPUTE_32F might use TF32 for F32 operands where a user's environment allows it.
  const cublasComputeType_t compute =
      size.type == DType::f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t operation = nullptr;
  blas_.check(blas_.desc_create(&operation, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
  operation_.reset(operation);
  const cublasOperation_t of_b = size.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  blas_.check(blas_.desc_set(operation, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof(of_b)),
              "CUBLASLT_MATMUL_DESC_TRANSA");
  choose(workspace_bytes);
}

Product::Layout Product::layout(cudaDataType type, std::int64_t rows, std::int64_t columns,
                                std::int64_t stride, std::int64_t batch_stride,
                                std::int64_t batch) const {
  cublasLtMatrixLayout_t made = nullptr;
  blas_.check(blas_.layout_create(&made, type, static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(columns), stride),
              "cublasLtMatrixLayoutCreate");
  Layout owned(made, blas_.layout_destroy);
  const auto count = static_cast<std::int32_t>(batch);
  blas_.check(blas_.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
              "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT");
  blas_.check(blas_.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                               sizeof(batch_stride)),
              "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET");
  return owned;
}

void Product::choose(std::int64_t workspace_bytes) {
  cublasLtMatmulPreference_t made = nullptr;
  blas_.check(blas_.preference_create(&made), "cublasLtMatmulPreferenceCreate");
  const Owned<cublasLtMatmulPreference_t> preference(made, blas_.preference_destroy);
  const auto bytes = static_cast<std::uint64_t>(workspace_bytes);
  blas_.check(
      blas_.preference_set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
      "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES");
  const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE;
  blas_.check(blas_.preference_set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
                                   sizeof(schemes)),
              "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK");
  int found = 0;
  blas_.check(blas_.algo_get_heuristic(handle_, operation_.get(), b_.get(), a_.get(), c_.get(),
                                       c_.get(), made, 1, &choice_, &found),
              "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0)
    throw Error(ErrorCode::not_possible, "cuBLASLt has no kernel for a product of this size");
  blas_.check(choice_.state, "cublasLtMatmulAlgoGetHeuristic");
}

void Product::run(const void* a, const void* b, float* c, void* workspace,
                  cudaStream_t stream) const {
  const float one = 1.0F;
  const float zero = 0.0F;
  blas_.check(
      blas_.matmul(handle_, operation_.get(), &one, b, b_.get(), a, a_.get(), &zero, c, c_.get(), c,
                   c_.get(), &choice_.algo, workspace, choice_.workspaceSize, stream),
      "cublasLtMatmul");
}

}  // namespace headwise::cuda::standard
