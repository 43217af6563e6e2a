// What the model's own file gives, against an independent implementation's output
// (scripts/model_oracle/oracle.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "model/chat/chat_template.h"
#include "model/gguf/gguf.h"
#include "model/gguf/gguf_config.h"
#include "model/tokenizer/stream_decoder.h"
#include "model/vocabulary/read_vocabulary.h"
#include "tests/model/model_file.h"

namespace headwise {
namespace {

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(HEADWISE_TEST_DATA "/smollm2/") + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json read_json(const std::string& name) { return nlohmann::json::parse(read_file(name)); }

TEST(SmolLM2, ConfigurationIsRead) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const GgufFile file(path);
  EXPECT_EQ(file.tensors().size(), 272U);
  const ModelConfig config = read_gguf_config(file);
  EXPECT_EQ(config.layers, 30);
  EXPECT_EQ(config.width, 576);
  EXPECT_EQ(config.ffn_width, 1536);
  EXPECT_EQ(config.q_heads, 9);
  EXPECT_EQ(config.kv_heads, 3);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.vocab, 49152);
  EXPECT_EQ(config.context, 8192);
  ASSERT_EQ(config.kinds.size(), 1U);
  EXPECT_EQ(config.kinds[0].rope.base, 100000.0);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_TRUE(config.tied_output);
}

TEST(SmolLM2, WeightsAreFiniteAndRowsAreTheWhole) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const GgufFile file(path);
  for (const char* name : {"blk.0.attn_q.weight", "blk.29.ffn_down.weight", "output_norm.weight"}) {
    const WeightTensor& tensor = file.tensor(name);
    std::vector<float> all(tensor.elements());
    tensor.dequantise_to_f32(all);
    for (const float weight : all) ASSERT_TRUE(std::isfinite(weight)) << name;
    std::vector<float> last(tensor.columns());
    tensor.dequantise_row(tensor.rows() - 1, last);
    EXPECT_TRUE(std::equal(last.begin(), last.end(), all.end() - std::ssize(last))) << name;
  }
}

TEST(SmolLM2, TokensAreTheOracles) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const Tokenizer tokenizer{read_vocabulary(GgufFile(path))};
  const nlohmann::json lines = read_json("tokens.json")["lines"];
  EXPECT_GE(lines.size(), 290U);
  for (const auto& line : lines) {
    const auto text = line["text"].get<std::string>();
    const auto tokens = tokenizer.encode(text);
    EXPECT_EQ(tokens, line["tokens"].get<std::vector<TokenId>>()) << line["text"];
    if (tokenizer.unencodable_bytes(text) != 0) continue;
    EXPECT_EQ(tokenizer.decode(tokens), text);
  }
}

TEST(SmolLM2, ThePromptsTokensAreTheOracles) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const GgufFile file(path);
  const nlohmann::json answer = read_json("answer.json");
  const Tokenizer tokenizer(read_vocabulary(file));
  const std::vector<ChatMessage> messages{{"user", read_file("prompt.txt")}};
  EXPECT_EQ(ChatTemplate(tokenizer.chat_template()).encode(tokenizer, messages),
            answer["prompt_tokens"].get<std::vector<TokenId>>());

  StreamDecoder decoder(tokenizer);
  std::string text;
  for (const auto& token : answer["greedy_tokens"]) text += decoder.push(token.get<TokenId>());
  EXPECT_EQ(text + decoder.finish(), answer["text"].get<std::string>());
}

TEST(SmolLM2, OfAllBytesTheVocabularyLacks21) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const Tokenizer tokenizer{read_vocabulary(GgufFile(path))};
  std::string all;
  std::string kept;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    all += one;
    if (tokenizer.unencodable_bytes(one) == 0) kept += one;
  }
  EXPECT_EQ(tokenizer.unencodable_bytes(all), 21U);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all)), kept);
}

TEST(SmolLM2, EndOfTurnAndEndOfTextEndGeneration) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  const Tokenizer tokenizer{read_vocabulary(GgufFile(path))};
  EXPECT_TRUE(tokenizer.ends_generation(tokenizer.special("<|im_end|>")));
  EXPECT_TRUE(tokenizer.ends_generation(tokenizer.special("<|endoftext|>")));
  EXPECT_FALSE(tokenizer.ends_generation(tokenizer.special("<|im_start|>")));
}

}  // namespace
}  // namespace headwise
