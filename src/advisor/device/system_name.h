#pragma once

#include <string>

#include "headwise/machine.h"

namespace headwise {

// What calibrations call the device that they are of.

/// The hardware file each of whose name's words the GPU's name has: "h200"; empty: there is none.
std::string hardware_file_of(const GpuInfo& gpu);

/// That file's name, else the GPU's: "nvidia_rtx_a6000".
std::string system_name(const GpuInfo& gpu);

/// A processor and the threads that are used of it: "intel_xeon_processor_2_threads".
std::string system_name(const CpuInfo& cpu, int threads);

}  // namespace headwise
