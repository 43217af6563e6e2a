#include "cuda/problem_checks.h"

#include "core/check.h"

namespace headwise::cuda {
namespace {

std::string version(int capability) { return concat(capability / 10, ".", capability % 10); }

}  // namespace

std::string why_no_gpu(const Problem& problem, const Machine& machine, int least_capability) {
  const Device& device = problem.device;
  if (device.type != DeviceType::cuda) return "tensors are on " + to_string(device);
  const auto gpus = static_cast<int>(machine.gpus.size());
  if (device.index < 0 || device.index >= gpus) {
    const std::string there = machine.no_gpu.empty() ? concat(gpus, " here") : machine.no_gpu;
    return concat("there is no GPU ", to_string(device), " (", there, ")");
  }
  const int capability = machine.gpus[static_cast<std::size_t>(device.index)].compute_capability;
  if (capability >= least_capability) return {};
  return concat("compute capability ", version(capability), " is older than ",
                version(least_capability));
}

}  // namespace headwise::cuda
