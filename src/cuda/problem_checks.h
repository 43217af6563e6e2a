#pragma once

#include <string>

#include "headwise/backend.h"

namespace headwise::cuda {

/// Why no kernel for GPUs from `least_capability` on (major * 10 + minor) can take a problem, in
/// the words of Support::no: the tensors are on a CPU, the machine has no such GPU, or an older
/// one. Empty: one can, and machine.gpus[problem.device.index] is there.
std::string why_no_gpu(const Problem& problem, const Machine& machine, int least_capability = 80);

}  // namespace headwise::cuda
