#pragma once

#include <vector>

#include "headwise/kv_memory.h"
#include "model/model_config.h"

namespace headwise {

/// The groups that a model's attention falls into, one for each kind of layer, with the shape that
/// it has in this engine: causal, q and K and V of the given types.
std::vector<LayerGroup> layer_groups(const ModelConfig& config, DType q_type, DType kv_type);

/// Where a layer stands among those of its group.
struct LayerPlace {
  int group = 0;
  int index = 0;
};

/// By layer.
std::vector<LayerPlace> layer_places(const ModelConfig& config);

/// The layers of a group, for people: "0-4, 6-10".
std::string layer_list(const ModelConfig& config, int group);

}  // namespace headwise
