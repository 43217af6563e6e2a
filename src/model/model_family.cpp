#include "model/model_family.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {

ModelConfig family_config(std::string_view family) {
  ModelConfig config;
  config.architecture = family;
  if (family == "llama" || family == "mistral") return config;
  if (family == "qwen2") {
    config.qkv_bias = true;
  } else if (family == "qwen3") {
    config.qk_norm = true;
  } else {
    check(family == "gemma3", "architecture ", quoted_name(family),
          " is not supported: llama, mistral, qwen2, qwen3 and gemma3 are");
    config.activation = Activation::gelu_tanh;
    config.qk_norm = true;
    config.post_norms = true;
  }
  return config;
}

void set_usual_scales(ModelConfig& config) {
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(config.head_dim));
  if (config.architecture == "gemma3") {
    config.embedding_scale = static_cast<float>(std::sqrt(config.width));
  }
}

std::vector<bool> windowed_but_every(int layers, int pattern) {
  std::vector<bool> is_windowed;
  for (int layer = 1; layer <= layers; ++layer) is_windowed.push_back(layer % pattern != 0);
  return is_windowed;
}

void set_kinds(ModelConfig& config, const LayerKind& windowed, const LayerKind& full,
               const std::vector<bool>& is_windowed) {
  const auto count = std::ranges::count(is_windowed, true);
  config.kinds.clear();
  if (count > 0) config.kinds.push_back(windowed);
  if (count < std::ssize(is_windowed)) config.kinds.push_back(full);
  config.kind_of_layer.clear();
  for (const bool is : is_windowed) {
    config.kind_of_layer.push_back(is ? 0 : static_cast<int>(config.kinds.size()) - 1);
  }
}

}  // namespace headwise
