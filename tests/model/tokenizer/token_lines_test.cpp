// 10,000 lines against the reference tokenizers (scripts/token_oracle/golden.py).

#include <gtest/gtest.h>

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/gguf/gguf.h"
#include "model/tokenizer/nfc.h"
#include "model/tokenizer/sentencepiece_spelling.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"
#include "model/vocabulary/tokenizer_json.h"
#include "tests/model/model_file.h"
#include "tests/model/test_lines.h"

namespace headwise {
namespace {

constexpr std::size_t kBlock = 100;
const std::string kFolder = HEADWISE_TEST_DATA "/tokenizers/";

const std::vector<std::string>& lines() {
  static const std::vector<std::string> lines = test_lines();
  return lines;
}

const nlohmann::json& golden() {
  static const auto golden = nlohmann::json::parse(read_text(kFolder + "golden.json"));
  return golden;
}

// FNV-1a of the lines' lengths and tokens, four bytes each, little-endian.
struct Digest {
  std::uint64_t hash = 0xcbf29ce484222325;
  std::size_t tokens = 0;

  void add(std::uint32_t number) {
    for (int byte = 0; byte < 4; ++byte) {
      hash = (hash ^ (number >> (8 * byte) & 0xff)) * 0x100000001b3;
    }
  }
  void add(const std::vector<TokenId>& line) {
    add(static_cast<std::uint32_t>(line.size()));
    for (const TokenId token : line) add(static_cast<std::uint32_t>(token));
    tokens += line.size();
  }
  std::string text() const {
    std::ostringstream out;
    out << tokens << ' ' << std::hex << std::setfill('0') << std::setw(16) << hash;
    return out.str();
  }
};

void compare(const Tokenizer& tokenizer, const std::string& name, const char* mode,
             SpecialText special) {
  const nlohmann::json& blocks = golden().at(name).at(mode);
  ASSERT_EQ(lines().size(), 10'000U);
  ASSERT_EQ(blocks.size(), lines().size() / kBlock);
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    Digest digest;
    for (std::size_t i = 0; i < kBlock; ++i) {
      digest.add(tokenizer.encode(lines()[block * kBlock + i], special));
    }
    const std::string wanted =
        std::to_string(blocks[block][0].get<int>()) + " " + blocks[block][1].get<std::string>();
    EXPECT_EQ(digest.text(), wanted) << name << ", " << mode << ", lines from " << block * kBlock;
  }
}

// What comes back but for what SentencePiece and form C change.
std::string kept(const std::string& text, const Vocabulary& vocabulary) {
  if (vocabulary.nfc) return to_nfc(text);
  return vocabulary.kind == TokenizerKind::byte_level ? text : with_spaces(text);
}

void come_back(const Tokenizer& tokenizer, const Vocabulary& vocabulary) {
  for (const std::string& line : lines()) {
    if (tokenizer.unencodable_bytes(line) > 0) continue;
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(line)), kept(line, vocabulary));
  }
}

void compare_all(const Vocabulary& vocabulary, const std::string& name) {
  const Tokenizer tokenizer(vocabulary);
  compare(tokenizer, name, "plain", SpecialText::plain);
  if (golden().at(name).contains("parsed")) {
    compare(tokenizer, name, "parsed", SpecialText::parsed);
  }
  come_back(tokenizer, vocabulary);
}

class TokenizerJson : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerJson, TenThousandLinesAreTheReferences) {
  const std::string name = GetParam();
  compare_all(read_tokenizer_json(read_text(kFolder + name + ".json")), name);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TokenizerJson,
                         testing::Values("gpt2", "llama3", "qwen2", "tekken", "llama2", "gemma"),
                         [](const auto& name) { return std::string(name.param); });

class SentencePieceGguf : public testing::TestWithParam<const char*> {};

TEST_P(SentencePieceGguf, TenThousandLinesAreTheReferences) {
  const std::string name = std::string(GetParam()) + ".gguf";
  compare_all(read_vocabulary(GgufFile(kFolder + name)), name);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SentencePieceGguf, testing::Values("llama2", "gemma"),
                         [](const auto& name) { return std::string(name.param); });

TEST(SmolLM2, TenThousandLinesAreTheReferences) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  compare_all(read_vocabulary(GgufFile(path)), "smollm2");
}

TEST(Gemma3, TenThousandLinesAreTheReferences) {
  HEADWISE_GEMMA_FILE_OR_SKIP(path);
  compare_all(read_vocabulary(GgufFile(path)), "gemma3");
}

}  // namespace
}  // namespace headwise
