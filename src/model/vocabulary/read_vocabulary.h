#pragma once

#include <filesystem>

#include "model/tokenizer/vocabulary.h"

namespace headwise {

class GgufFile;

/// The keys tokenizer.ggml.* of models "gpt2" and "llama". Throws Error that names the file and the
/// key: absent, not supported, or not fitting the tokens.
Vocabulary read_vocabulary(const GgufFile& file);

/// A folder in Hugging Face's layout: tokenizer.json, with tokenizer_config.json,
/// generation_config.json, special_tokens_map.json and chat_template.jinja where they are there.
/// Throws Error that names the file and the field: absent, not supported, or not fitting.
Vocabulary read_vocabulary(const std::filesystem::path& folder);

}  // namespace headwise
