#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/gguf_writer.h"

namespace headwise {

/// A SentencePiece vocabulary to write: <unk>, <s>, </s>, the 256 bytes, then pieces with scores.
struct TinyPieces {
  static constexpr int kFirst = 259;  ///< the first piece

  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types{2, 3, 3};
  std::vector<float> scores{0, 0, 0};
  std::optional<bool> add_bos;
  std::optional<bool> add_space_prefix;
  std::uint32_t bos = 1;
  std::uint32_t eos = 2;

  TinyPieces() {
    for (int byte = 0; byte < 256; ++byte) {
      char spelling[8];
      std::snprintf(spelling, sizeof spelling, "<0x%02X>", static_cast<unsigned>(byte));
      add(spelling, 0.0F, 6);
    }
  }

  TinyPieces& add(const std::string& piece, float score, std::int32_t type = 1) {
    tokens.push_back(piece);
    scores.push_back(score);
    types.push_back(type);
    return *this;
  }

  GgufWriter& write_keys(GgufWriter& writer) const {
    Bytes numbers;
    numbers.number<std::uint32_t>(6).number<std::uint64_t>(scores.size());
    for (const float score : scores) numbers.number(score);
    const auto flag = [&](const char* key, std::optional<bool> value) {
      if (value) writer.key(key, 7, Bytes().number<std::uint8_t>(*value ? 1 : 0));
    };
    flag("tokenizer.ggml.add_bos_token", add_bos);
    flag("tokenizer.ggml.add_space_prefix", add_space_prefix);
    return writer.string("tokenizer.ggml.model", "llama")
        .strings("tokenizer.ggml.tokens", tokens)
        .integers("tokenizer.ggml.token_type", types)
        .key("tokenizer.ggml.scores", 9, numbers)
        .u32("tokenizer.ggml.bos_token_id", bos)
        .u32("tokenizer.ggml.eos_token_id", eos);
  }
};

}  // namespace headwise
