#include "model/tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "model/gguf/gguf.h"
#include "model/tokenizer/utf8.h"
#include "model/vocabulary/read_vocabulary.h"
#include "tests/model/error_of.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

Tokenizer tiny_tokenizer() {
  GgufWriter writer;
  TinyVocabulary().write_keys(writer);
  return Tokenizer(read_vocabulary(GgufFile(TemporaryFile(writer.text()).path())));
}

/// The parts that the bytes of `text` come out as, one push a byte, then finish.
std::vector<std::string> parts(const Tokenizer& tokenizer, const std::string& text) {
  StreamDecoder decoder(tokenizer);
  std::vector<std::string> out;
  for (const char c : text) out.push_back(decoder.push(3 + static_cast<unsigned char>(c)));
  out.push_back(decoder.finish());
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (step.kind != Utf8Kind::character) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
}

using Parts = std::vector<std::string>;
constexpr const char* kBad = "\xef\xbf\xbd";

TEST(StreamDecoder, HoldsACharacterBackUntilItIsWhole) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_EQ(parts(tokenizer, "a\xc3\xa4"), (Parts{"a", "", "\xc3\xa4", ""}));
  EXPECT_EQ(parts(tokenizer, "\xf0\x9f\x98\x80"), (Parts{"", "", "", "\xf0\x9f\x98\x80", ""}));
}

TEST(StreamDecoder, ReplacesWhatCannotBecomeACharacter) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_EQ(parts(tokenizer,
                  "\xff"
                  "a"),
            (Parts{kBad, "a", ""}));
  EXPECT_EQ(parts(tokenizer,
                  "\xc3"
                  "a"),
            (Parts{"", std::string(kBad) + "a", ""}));
  EXPECT_EQ(parts(tokenizer, "\xf0\x9f"), (Parts{"", "", kBad}));
  // Overlong, surrogate, past U+10FFFF: refused at the second byte.
  for (const char* bytes : {"\xe0\x80", "\xed\xa0", "\xf0\x80", "\xf4\x90"}) {
    EXPECT_EQ(joined(parts(tokenizer, bytes)), std::string(kBad) + kBad);
  }
}

TEST(StreamDecoder, EveryPartIsUtf8AndValidTextIsUnchanged) {
  const Tokenizer tokenizer = tiny_tokenizer();
  std::mt19937 random(2);
  std::uniform_int_distribution<int> any(0, 255);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < round; ++i) text += static_cast<char>(any(random) | (round % 2) << 7);
    for (const std::string& part : parts(tokenizer, text)) EXPECT_TRUE(is_utf8(part));
  }
  const std::string valid =
      "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf";
  EXPECT_EQ(joined(parts(tokenizer, valid)), valid);
}

TEST(StreamDecoder, IsAsNewAfterFinish) {
  const Tokenizer tokenizer = tiny_tokenizer();
  StreamDecoder decoder(tokenizer);
  decoder.push(3 + 0xc3);
  EXPECT_EQ(decoder.finish(), kBad);
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.push(259), "he");
  EXPECT_NE(error_of([&] { decoder.push(1000); }), "");
}

}  // namespace
}  // namespace headwise
