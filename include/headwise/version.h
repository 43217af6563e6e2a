#pragma once

#include <string_view>

namespace headwise {

/// "0.1.0".
std::string_view version();
/// The source revision that was built, "unknown" outside a repository.
std::string_view revision();
/// What the CUDA kernels were compiled for, "80 90, PTX 80 89"; "none" in a build without CUDA.
std::string_view cuda_architectures();

}  // namespace headwise
