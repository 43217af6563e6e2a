#include "cuda/standard/copy_rows.cuh"

namespace headwise::cuda::standard {

void copy_queries(const QueryRows& rows, const RowCopy& copy, cudaStream_t stream) {
  launch_copy(rows, copy, stream);
}

}  // namespace headwise::cuda::standard
