#pragma once

#include <string_view>

#include "model/model_config.h"

namespace headwise {

/// The configuration in a config.json as transformers writes it, old or new, for LlamaForCausalLM,
/// MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, Gemma3ForCausalLM and the text part of
/// Gemma3ForConditionalGeneration. What is left out has transformers' default. Throws Error naming
/// the field: missing, out of range, or not understood, since it could change the result.
ModelConfig read_hf_config(std::string_view json);

}  // namespace headwise
