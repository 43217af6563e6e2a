#include "model/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "model/gguf/gguf.h"
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

// Specials 0 to 2, bytes from 3, words from 259: he, ll, hell, " h".
constexpr TokenId kHe = 259;
constexpr TokenId kHell = 261;
constexpr TokenId kSpaceH = 262;

TokenId byte(char c) { return 3 + static_cast<unsigned char>(c); }

using Tokens = std::vector<TokenId>;

TEST(Tokenizer, EarlierMergesGoFirst) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_EQ(tokenizer.encode("hello"), (Tokens{kHell, byte('o')}));
  // "h e" comes before "space h", so the space stays alone.
  EXPECT_EQ(tokenizer.encode(" he"), (Tokens{byte(' '), kHe}));
  EXPECT_EQ(tokenizer.encode(" ha"), (Tokens{kSpaceH, byte('a')}));
  EXPECT_EQ(tokenizer.encode("hehell"), (Tokens{kHe, kHell}));
  EXPECT_EQ(tokenizer.encode(""), Tokens{});
}

TEST(Tokenizer, DigitsAndWordsDoNotMergeAcrossPieces) {
  const Tokenizer tokenizer = tiny_tokenizer();
  // White space before a digit keeps its last character; before a word it gives it away.
  EXPECT_EQ(tokenizer.encode("h1e"), (Tokens{byte('h'), byte('1'), byte('e')}));
  EXPECT_EQ(tokenizer.encode("  ha"), (Tokens{byte(' '), kSpaceH, byte('a')}));
}

TEST(Tokenizer, SpecialTokensAreParsedOnlyWhereAsked) {
  const Tokenizer tokenizer = tiny_tokenizer();
  const std::string text = "he</s><s>xhe<s>";
  EXPECT_EQ(tokenizer.encode(text, SpecialText::parsed), (Tokens{kHe, 1, 2, kHe, 0}));
  for (const TokenId token : tokenizer.encode(text)) EXPECT_FALSE(tokenizer.is_special(token));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialText::parsed)), text);
  EXPECT_EQ(tokenizer.special("</s>"), 1);
  EXPECT_TRUE(tokenizer.is_special(2));
  EXPECT_TRUE(tokenizer.ends_generation(1));
  EXPECT_FALSE(tokenizer.ends_generation(0));
  EXPECT_EQ(error_of([&] { tokenizer.special("he"); }),
            "special token 'he' is not in the vocabulary");
}

TEST(Tokenizer, TokensOutsideOfTheVocabularyAreRefused) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 263);
  for (const TokenId token : {-1, 263}) {
    const std::string message =
        "token " + std::to_string(token) + " is outside of the vocabulary of 263";
    EXPECT_EQ(error_of([&] { tokenizer.decode(Tokens{token}); }), message);
    EXPECT_FALSE(tokenizer.is_special(token));
    EXPECT_FALSE(tokenizer.ends_generation(token));
  }
}

TEST(Tokenizer, AnyBytesComeBack) {
  const Tokenizer tokenizer = tiny_tokenizer();
  std::mt19937 random(1);
  std::uniform_int_distribution<int> any(0, 255);
  std::uniform_int_distribution<int> letter(0, 5);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < round; ++i) {
      text += round % 2 == 0 ? static_cast<char>(any(random)) : "hel \xc3\xa4"[letter(random)];
    }
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    EXPECT_EQ(tokenizer.unencodable_bytes(text), 0U);
  }
}

TEST(Tokenizer, BytesWithoutATokenAreLeftOutAndCounted) {
  TinyVocabulary vocabulary;
  vocabulary.tokens.at(3 + 'x') = "unused";
  GgufWriter writer;
  vocabulary.write_keys(writer);
  const Tokenizer tokenizer(read_vocabulary(GgufFile(TemporaryFile(writer.text()).path())));
  EXPECT_EQ(tokenizer.encode("xhxex"), Tokens{kHe});
  EXPECT_EQ(tokenizer.unencodable_bytes("xhxex"), 3U);
}

TEST(Tokenizer, LongPiecesTakeNoSquareTime) {
  const Tokenizer tokenizer = tiny_tokenizer();
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "hell";
  EXPECT_EQ(tokenizer.encode(text).size(), 100'000U);
}

}  // namespace
}  // namespace headwise
