#include "advisor/time/usual_plan.h"

#include <algorithm>
#include <limits>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::int64_t kMostDevices = 64;

/// The fewest that a layer stores; linear attention's states split like heads.
std::int64_t kv_heads(const ModelDescription& model) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const EqualLayers& group : model.groups) {
    const Attention& attention = group.layer.attention;
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&attention))
      fewest = std::min(fewest, softmax->kv_heads);
    if (std::holds_alternative<LatentAttention>(attention)) fewest = 1;
  }
  return fewest;
}

/// 0: it has none.
std::int64_t expert_count(const ModelDescription& model) {
  for (const EqualLayers& group : model.groups)
    if (const auto* moe = std::get_if<MixtureOfExperts>(&group.layer.feed_forward))
      return moe->experts;
  return 0;
}

}  // namespace

Deployment usual_plan(const ModelDescription& model, Deployment types, std::int64_t devices) {
  const std::int64_t experts = expert_count(model);
  const bool groups = experts > 0 && kv_heads(model) < devices;
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
