// A megabyte of text takes no noticeable time, whatever it is made of. The bounds are generous:
// what they keep out is square time.

#include <gtest/gtest.h>

#include <chrono>

#include "model/gguf/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"
#include "model/vocabulary/tokenizer_json.h"
#include "tests/model/model_file.h"
#include "tests/model/test_lines.h"

namespace headwise {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

double seconds_of(const Tokenizer& tokenizer, const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(tokenizer.encode(text).empty());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count();
}

std::string repeated(const std::string& part) {
  std::string text;
  while (text.size() < kMegabyte) text += part;
  return text;
}

void time_texts(const Tokenizer& tokenizer) {
  std::string english;
  for (const std::string& line : test_lines()) english += line + ' ';
  const double mixed = seconds_of(tokenizer, english.substr(0, kMegabyte));
  const double word = seconds_of(tokenizer, repeated("supercalifragilistic"));
  const double spaces = seconds_of(tokenizer, repeated(" "));
  const double marks = seconds_of(tokenizer, repeated("\xcc\x81\xcc\xa3"));
  const double signs = seconds_of(tokenizer, repeated("<"));
  std::printf(
      "seconds a megabyte: mixed %.3f, one word %.3f, spaces %.3f, marks %.3f, signs %.3f\n", mixed,
      word, spaces, marks, signs);
  for (const double seconds : {mixed, word, spaces, marks, signs}) EXPECT_LT(seconds, 20.0);
}

TEST(TokenizerSpeed, NoTextTakesSquareTime) {
  for (const char* name : {"llama3", "qwen2", "tekken", "llama2"}) {
    SCOPED_TRACE(name);
    time_texts(Tokenizer(read_tokenizer_json(
        read_text(std::string(HEADWISE_TEST_DATA "/tokenizers/") + name + ".json"))));
  }
}

TEST(TokenizerSpeed, NorWithSmolLM2) {
  HEADWISE_MODEL_FILE_OR_SKIP(path);
  time_texts(Tokenizer(read_vocabulary(GgufFile(path))));
}

TEST(TokenizerSpeed, NorWithGemma3) {
  HEADWISE_GEMMA_FILE_OR_SKIP(path);
  time_texts(Tokenizer(read_vocabulary(GgufFile(path))));
}

}  // namespace
}  // namespace headwise
