#pragma once

#include <string>
#include <vector>

#include "headwise/machine.h"

namespace headwise {

struct GpuSearch {
  std::vector<GpuInfo> gpus;  ///< by CUDA ordinal
  std::string no_gpu;         ///< why there are none; empty where there are some
};

/// Asks NVIDIA's driver, found when the program runs: builds without CUDA know the GPUs too. Never
/// throws for what the driver lacks or says.
GpuSearch find_gpus(const std::string& driver = "libcuda.so.1");

/// GPUs get no more shared memory a block than `limit` bytes, HEADWISE_SHARED_MEMORY_LIMIT's text;
/// null or empty: no limit. Throws Error(invalid_input) where it is no number.
void limit_shared_memory(std::vector<GpuInfo>& gpus, const char* limit);

}  // namespace headwise
