#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// The name that a GGUF file has for a tensor of a Hugging Face checkpoint of the family, such as
/// "blk.0.attn_q.weight" for "model.layers.0.self_attn.q_proj.weight"; "" for one that the model
/// does without: parts for images, stored rotary frequencies. Absent where it is not understood.
std::optional<std::string> gguf_name(std::string_view hf_name, std::string_view family);

}  // namespace headwise
