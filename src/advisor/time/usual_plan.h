#pragma once

#include <string>

#include "advisor/time/serving.h"

namespace headwise {

/// `types` spread over `devices` as engines do it by default: where there are experts and fewer KV
/// heads than devices (MLA has one), each device attends to requests of its own and all share the
/// experts; else heads and widths are split. Experts that the devices do not divide have their
/// widths split.
Deployment usual_plan(const ModelDescription& model, Deployment types, std::int64_t devices);

/// The fewest, a power of two, on which one request of `context` tokens fits beside the weights.
struct DeviceCount {
  std::int64_t devices = 1;
  std::string why;
};
DeviceCount fewest_devices(const ModelDescription& model, const Deployment& types,
                           const Hardware& hardware, std::int64_t context,
                           const MemoryPlan& memory);

}  // namespace headwise
