#pragma once

#include "headwise/device_memory.h"

namespace headwise {

/// The memory of a GPU, by its CUDA ordinal. Throws Error(not_possible) in a build without CUDA; a
/// GPU that is not there is found out when it is used.
const DeviceMemory& cuda_memory(int index);

}  // namespace headwise
