#pragma once

#include "cuda/sm80/kernel_row.h"

namespace headwise::cuda::sm80 {

/// In place of the kernel, in builds of some rows only.
template <class Config>
KernelFunctions functions_of() {
  return {};
}

}  // namespace headwise::cuda::sm80
