#include "engine/layer_groups.h"

#include <string>

#include "core/check.h"

namespace headwise {

std::vector<LayerGroup> layer_groups(const ModelConfig& config, DType q_type, DType kv_type) {
  std::vector<LayerGroup> groups;
  for (const LayerKind& kind : config.kinds) {
    AttentionShape shape;
    shape.q_heads = config.q_heads;
    shape.kv_heads = config.kv_heads;
    shape.head_dim_qk = config.head_dim;
    shape.head_dim_v = config.head_dim;
    shape.q_type = q_type;
    shape.kv_type = kv_type;
    shape.scale = config.attention_scale;
    shape.window_left = kind.window > 0 ? kind.window - 1 : -1;
    groups.push_back({.shape = shape, .layers = 0});
  }
  for (const int kind : config.kind_of_layer) ++groups[static_cast<std::size_t>(kind)].layers;
  return groups;
}

std::vector<LayerPlace> layer_places(const ModelConfig& config) {
  std::vector<int> counts(config.kinds.size());
  std::vector<LayerPlace> places;
  for (const int kind : config.kind_of_layer)
    places.push_back({.group = kind, .index = counts[static_cast<std::size_t>(kind)]++});
  return places;
}

std::string layer_list(const ModelConfig& config, int group) {
  std::string list;
  for (int layer = 0; layer < config.layers;) {
    const auto of_group = [&](int other) {
      return other < config.layers &&
             config.kind_of_layer[static_cast<std::size_t>(other)] == group;
    };
    if (!of_group(layer)) {
      ++layer;
      continue;
    }
    int last = layer;
    while (of_group(last + 1)) ++last;
    list += concat(list.empty() ? "" : ", ", layer);
    if (last > layer) list += concat("-", last);
    layer = last + 1;
  }
  return list;
}

}  // namespace headwise
