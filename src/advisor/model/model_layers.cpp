#include "advisor/model/model_layers.h"

#include <algorithm>

namespace headwise {

std::vector<LayerDescription> layers_of(const ModelDescription& model) {
  std::vector<LayerDescription> layers;
  for (const int group : model.group_of_layer)
    layers.push_back(model.groups[static_cast<std::size_t>(group)].layer);
  return layers;
}

void set_layers(ModelDescription& model, const std::vector<LayerDescription>& layers) {
  model.groups.clear();
  model.group_of_layer.clear();
  for (const LayerDescription& layer : layers) {
    auto group = std::ranges::find(model.groups, layer, &EqualLayers::layer);
    if (group == model.groups.end()) group = model.groups.insert(group, {.layer = layer});
    ++group->count;
    model.group_of_layer.push_back(static_cast<int>(group - model.groups.begin()));
  }
}

}  // namespace headwise
