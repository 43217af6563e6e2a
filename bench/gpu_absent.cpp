// Built where there is no nvcc.
#include "bench/gpu.h"
#include "headwise/error.h"

namespace headwise::bench {

std::unique_ptr<Gpu> open_gpu(int) {
  throw Error(ErrorCode::not_possible, "this build has no CUDA");
}

}  // namespace headwise::bench
