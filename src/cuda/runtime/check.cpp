#include "cuda/runtime/check.h"

#include "core/check.h"
#include "headwise/error.h"

namespace headwise::cuda {

void check_call(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::not_possible, concat(what, ": ", cudaGetErrorString(status)));
}

void check_launch(std::string_view row) { check_call(cudaGetLastError(), row); }

}  // namespace headwise::cuda
