#pragma once

#include <string_view>

#include "model/vocabulary.h"

namespace headwise {

class JsonField;

/// tokenizer.json of Hugging Face's tokenizers: BPE with ByteLevel, or with byte fallback. It says
/// nothing of end tokens or chat templates. `truncation`, `padding` and `decoder` are not looked
/// at. Throws Error naming the field: absent, not supported, or not fitting the tokens.
Vocabulary read_tokenizer_json(std::string_view text);

/// What `normalizer`, `pre_tokenizer` and `post_processor` say; kind and tokens are known.
void read_tokenizer_rules(const JsonField& document, Vocabulary& vocabulary);

/// Whether `pre_tokenizer` is, or ends in, ByteLevel.
bool is_byte_level(const JsonField& document);

}  // namespace headwise
