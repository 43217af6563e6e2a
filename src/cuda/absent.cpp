// Built where there is no nvcc, instead of all else in this folder.
#include "attention/absent_backend.h"
#include "cuda/cuda_backends.h"
#include "cuda/cuda_memory.h"
#include "headwise/error.h"

namespace headwise {

std::vector<const Backend*> cuda_backends() {
  constexpr std::string_view kReason = "this build has no CUDA";
  static const AbsentBackend sm90("cuda-sm90", DeviceType::cuda, kReason);
  static const AbsentBackend sm80("cuda-sm80", DeviceType::cuda, kReason);
  static const AbsentBackend standard("cuda-standard", DeviceType::cuda, kReason);
  return {&sm90, &sm80, &standard};
}

const DeviceMemory& cuda_memory(int) {
  throw Error(ErrorCode::not_possible, "this build has no CUDA");
}

}  // namespace headwise
