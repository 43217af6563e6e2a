#pragma once

#include <string_view>

#include "model/json/json_text.h"
#include "model/tokenizer/vocabulary.h"

namespace headwise {

class JsonField;

/// Of tokenizer.json and the files beside it; known ones have up to 35 MB and 1.2 million values.
inline constexpr JsonLimits kTokenizerLimits{
    .bytes = std::size_t{256} << 20, .depth = 64, .values = std::size_t{1} << 24};

/// tokenizer.json of Hugging Face's tokenizers: BPE with ByteLevel, or with byte fallback. It says
/// nothing of end tokens or chat templates. `truncation`, `padding` and `decoder` are not looked
/// at. Throws Error naming the field: absent, not supported, or not fitting the tokens.
Vocabulary read_tokenizer_json(std::string_view text);

/// What `normalizer`, `pre_tokenizer` and `post_processor` say; kind and tokens are known.
void read_tokenizer_rules(const JsonField& document, Vocabulary& vocabulary);

/// Whether `pre_tokenizer` is, or ends in, ByteLevel.
bool is_byte_level(const JsonField& document);

}  // namespace headwise
