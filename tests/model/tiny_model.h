#pragma once

#include <utility>

#include "tests/model/gguf_writer.h"

namespace headwise {

/// The keys and the embedding of a valid model of an architecture but for the key `left_out`: 2
/// layers of width 8, 4 query heads, 2 KV heads, 10 tokens.
inline GgufWriter tiny_model(const std::string& architecture, std::string_view left_out = "") {
  GgufWriter writer;
  writer.string("general.architecture", architecture)
      .f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-5F)
      .tensor("token_embd.weight", {8, 10}, 0, std::string(8 * 10 * 4, '\0'));
  const std::pair<const char*, std::uint32_t> counts[] = {
      {".block_count", 2},          {".context_length", 64},      {".embedding_length", 8},
      {".feed_forward_length", 16}, {".attention.head_count", 4}, {".attention.head_count_kv", 2}};
  for (const auto& [name, value] : counts) {
    if (const std::string key = architecture + name; key != left_out) writer.u32(key, value);
  }
  return writer;
}

inline GgufWriter tiny_llama_without(std::string_view left_out) {
  return tiny_model("llama", left_out);
}

inline GgufWriter tiny_llama() { return tiny_llama_without(""); }

/// How byte-level vocabularies spell the byte.
inline std::string byte_spelling(int byte) {
  const auto printable = [](int b) {
    return (b > 0x20 && b < 0x7f) || (b > 0xa0 && b < 0x100 && b != 0xad);
  };
  int character = byte;
  if (!printable(byte)) {
    character = 0x100;
    for (int b = 0; b < byte; ++b) character += printable(b) ? 0 : 1;
  }
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xc0 | (character >> 6)), static_cast<char>(0x80 | (character & 0x3f))};
}

/// A vocabulary to write: the special tokens <s>, </s>, <s>x, then all bytes, then "he", "ll",
/// "hell" and "\xc4\xa0h" (a space, h), which `merges` make.
struct TinyVocabulary {
  std::vector<std::string> tokens{"<s>", "</s>", "<s>x"};
  std::vector<std::int32_t> types{3, 3, 3};
  std::vector<std::string> merges{"h e", "l l", "he ll", "\xc4\xa0 h"};
  std::string model = "gpt2";
  std::string pre = "smollm";
  std::uint32_t eos = 1;

  TinyVocabulary() {
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(byte_spelling(byte));
    for (const char* word : {"he", "ll", "hell", "\xc4\xa0h"}) tokens.emplace_back(word);
    types.resize(tokens.size(), 1);
  }

  GgufWriter& write_keys(GgufWriter& writer) const {
    return writer.string("tokenizer.ggml.model", model)
        .string("tokenizer.ggml.pre", pre)
        .strings("tokenizer.ggml.tokens", tokens)
        .integers("tokenizer.ggml.token_type", types)
        .strings("tokenizer.ggml.merges", merges)
        .u32("tokenizer.ggml.eos_token_id", eos);
  }
};

}  // namespace headwise
