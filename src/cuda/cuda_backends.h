#pragma once

#include <vector>

#include "headwise/backend.h"

namespace headwise {

/// The backends for tensors on NVIDIA GPUs, in order of preference. A build without CUDA has their
/// names, and refuses.
std::vector<const Backend*> cuda_backends();

}  // namespace headwise
