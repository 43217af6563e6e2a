#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace headwise::cuda {

/// Throws Error(not_possible) "WHAT: CUDA's message" where a call failed: out of memory, no driver,
/// a kernel that cannot be launched. `what` names the operation, or the kernel row.
void check_call(cudaError_t status, std::string_view what);

/// check_call() of the launch before it.
void check_launch(std::string_view row);

}  // namespace headwise::cuda
