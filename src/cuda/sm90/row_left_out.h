#pragma once

#include "cuda/sm90/kernel_row.h"
#include "cuda/sm90/tile_config.h"
#include "cuda/sm90/wide_config.h"

namespace headwise::cuda::sm90 {

/// In place of the kernel, in builds of some rows only.
template <class Config>
KernelFunctions functions_of() {
  return {};
}

}  // namespace headwise::cuda::sm90
