#include "cuda/standard/copy_rows.cuh"

namespace headwise::cuda::standard {

void copy_keys(const KeyRows& rows, const RowCopy& copy, cudaStream_t stream) {
  launch_copy(rows, copy, stream);
}

}  // namespace headwise::cuda::standard
