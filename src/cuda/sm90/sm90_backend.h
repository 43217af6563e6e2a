#pragma once

#include "headwise/backend.h"

namespace headwise::cuda {

/// `cuda-sm90`: decodes and short appends on Hopper, with its tensor copies and overlapping
/// launches. Refuses all else.
const Backend& sm90_backend();

}  // namespace headwise::cuda
