#pragma once

#include <string>

#include "engine/llama_weights.h"

namespace headwise {

/// 2 layers, group size 2, heads whose width together is not the model's, 263 tokens (the tiny
/// vocabulary's), a context of 40.
LlamaConfig tiny_config(bool tied_output = true);

/// Normally distributed weights, the same for the same seed; large enough that attention looks at
/// some keys more than at others.
LlamaWeights random_llama(const LlamaConfig& config, unsigned seed);

/// The model as a GGUF file with the tiny vocabulary and no chat template.
std::string gguf_of(const LlamaWeights& weights);

}  // namespace headwise
