#pragma once

#include "headwise/backend.h"

namespace headwise::cuda {

/// `cuda-sm80`: one family of kernels for GPUs from Ampere on (mma.sync, cp.async), prefill,
/// append, decode and mixed steps alike.
const Backend& sm80_backend();

}  // namespace headwise::cuda
