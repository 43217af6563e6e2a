#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Compute capability of the NVIDIA GPU that `name` names, without its point: 90 for "NVIDIA H100
/// 80GB HBM3", "h200" or "NVIDIA_H20". Nothing, if the name is not known or another maker's.
/// Source: NVIDIA's list of GPUs by compute capability.
std::optional<int> compute_capability_of(std::string_view name);

/// "Hopper (SM 9.0)"
std::string name_of_generation(int compute_capability);

}  // namespace headwise
