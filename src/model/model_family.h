#pragma once

#include <string_view>
#include <vector>

#include "model/model_config.h"

namespace headwise {

/// What all models of "llama", "mistral", "qwen2", "qwen3" or "gemma3" have in common; counts and
/// numbers are left to be read. Throws Error naming any other family.
ModelConfig family_config(std::string_view family);

/// Sets what follows from counts where a file does not say otherwise: the scales.
void set_usual_scales(ModelConfig& config);

/// [layers]: windowed, but for every `pattern`-th layer, the first being number 1.
std::vector<bool> windowed_but_every(int layers, int pattern);

/// Sets kinds, those that there are layers of, and kind_of_layer. `is_windowed`: [layers].
void set_kinds(ModelConfig& config, const LayerKind& windowed, const LayerKind& full,
               const std::vector<bool>& is_windowed);

}  // namespace headwise
