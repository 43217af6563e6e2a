#include "cuda/cuda_backends.h"

#include "cuda/sm80/sm80_backend.h"
#include "cuda/sm90/sm90_backend.h"
#include "cuda/standard/cuda_standard.h"

namespace headwise {

std::vector<const Backend*> cuda_backends() {
  return {&cuda::sm90_backend(), &cuda::sm80_backend(), &cuda::cuda_standard_backend()};
}

}  // namespace headwise
