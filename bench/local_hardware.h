#pragma once

#include <functional>
#include <string_view>

#include "advisor/device/hardware.h"
#include "bench/gpu_limits.h"
#include "bench/probes.h"
#include "headwise/machine.h"

namespace headwise::bench {

struct LocalHardwareOptions {
  ProbeOptions probes{.seconds = 0.25};
  GpuProbeOptions gpu_probes;
  bool cpu_only = false;
  int threads = 0;  ///< of a CPU; 0: all that the process may run on
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

/// The device at hand by probes that take some seconds: the first GPU where there is one and the
/// build has CUDA, else, or with cpu_only, the CPU. Its name is "local". Throws Error as the probes
/// do.
Hardware local_hardware(const Machine& machine, const LocalHardwareOptions& options);

}  // namespace headwise::bench
