#include "advisor/time/usual_plan.h"

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::int64_t kMostDevices = 64;

}  // namespace

Deployment usual_plan(const ModelDescription& model, Deployment types, std::int64_t devices) {
  const std::int64_t experts = routed_experts(model);
  const bool groups = experts > 0 && fewest_kv_heads(model) < devices;
  types.tp = groups ? 1 : devices;
  types.adp = groups ? devices : 1;
  types.tp_ff = groups ? 1 : devices;
  types.ep = experts > 0 && experts % devices == 0 ? devices : 1;
  return types;
}

DeviceCount fewest_devices(const ModelDescription& model, const Deployment& types,
                           const Hardware& hardware, std::int64_t context,
                           const MemoryPlan& memory) {
  if (!hardware.memory_bytes) return {.devices = 1, .why = "its memory is not known"};
  for (std::int64_t devices = 1; devices <= kMostDevices; devices *= 2) {
    const Deployment plan = usual_plan(model, types, devices);
    if (!why_impossible(model, plan).empty()) continue;
    if (largest_batch(model, plan, hardware, context, memory).requests > 0)
      return {.devices = devices,
              .why = concat("the fewest, a power of two, that hold weights and a request of ",
                            context, " tokens")};
  }
  return {.devices = 1, .why = concat("not even ", kMostDevices, " hold it")};
}

}  // namespace headwise
