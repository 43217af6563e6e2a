// SentencePiece's BPE out of a GGUF file: merges by score, byte fallback, prefix spaces.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "model/gguf/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"
#include "tests/model/error_of.h"
#include "tests/model/tiny_pieces.h"

namespace headwise {
namespace {

constexpr const char* kSpace = "\xe2\x96\x81";

using Tokens = std::vector<TokenId>;

// From 259: a, b, c, ab, bc, space, space a, abc (reached by no merge but ab + c or a + bc).
TinyPieces pieces() {
  TinyPieces pieces;
  pieces.add("a", 0).add("b", 0).add("c", 0).add("ab", -1).add("bc", -2);
  return pieces.add(kSpace, 0).add(std::string(kSpace) + "a", -3).add("abc", -4);
}
constexpr TokenId kA = TinyPieces::kFirst;
constexpr TokenId kB = kA + 1;
constexpr TokenId kC = kA + 2;
constexpr TokenId kAb = kA + 3;
constexpr TokenId kBc = kA + 4;
constexpr TokenId kBlank = kA + 5;
constexpr TokenId kBlankA = kA + 6;
constexpr TokenId kAbc = kA + 7;

Tokenizer tokenizer_of(const TinyPieces& pieces) {
  GgufWriter writer;
  pieces.write_keys(writer);
  return Tokenizer(read_vocabulary(GgufFile(TemporaryFile(writer.text()).path())));
}

Tokenizer without_prefix(TinyPieces pieces) {
  pieces.add_space_prefix = false;
  return tokenizer_of(pieces);
}

TokenId byte(int value) { return 3 + value; }

TEST(SentencePiece, TheHighestScoreGoesFirstThenTheLeftmost) {
  const Tokenizer tokenizer = without_prefix(pieces());
  EXPECT_EQ(tokenizer.encode("abc"), Tokens{kAbc});
  EXPECT_EQ(tokenizer.encode("abbc"), (Tokens{kAb, kBc}));
  EXPECT_EQ(tokenizer.encode("bcab"), (Tokens{kBc, kAb}));
  EXPECT_EQ(tokenizer.encode("bb"), (Tokens{kB, kB}));
  TinyPieces twins;
  twins.add("x", 0).add("xx", 0).add("xxx", 5);
  EXPECT_EQ(without_prefix(twins).encode("xxxxx"),
            (Tokens{TinyPieces::kFirst + 2, TinyPieces::kFirst + 1}));
}

TEST(SentencePiece, CharactersWithoutATokenBecomeBytes) {
  const Tokenizer tokenizer = without_prefix(pieces());
  EXPECT_EQ(tokenizer.encode("a\xc3\xa4"), (Tokens{kA, byte(0xc3), byte(0xa4)}));
  EXPECT_EQ(tokenizer.encode("\xff\n"), (Tokens{byte(0xff), byte('\n')}));
  EXPECT_EQ(tokenizer.bytes(byte('\n')), "\n");
}

TEST(SentencePiece, ATextBeginsWithASpaceUnlessTheFileSaysNo) {
  const Tokenizer tokenizer = tokenizer_of(pieces());
  EXPECT_EQ(tokenizer.encode("a"), Tokens{kBlankA});
  EXPECT_EQ(tokenizer.encode(" a"), (Tokens{kBlank, kBlankA}));
  EXPECT_EQ(tokenizer.encode(""), Tokens{});
  EXPECT_EQ(tokenizer.encode("a</s>a", SpecialText::parsed), (Tokens{kBlankA, 2, kBlankA}));
  EXPECT_EQ(tokenizer.decode(Tokens{kBlankA, 2, kBlankA, kBlankA}), "a</s>a a");
  EXPECT_EQ(tokenizer.bytes(kBlankA), " a");  // it continues a text
  EXPECT_EQ(without_prefix(pieces()).encode("a"), Tokens{kA});
  EXPECT_EQ(without_prefix(pieces()).decode(Tokens{kBlankA}), " a");
}

TEST(SentencePiece, TheBeginningIsPutInFrontOnce) {
  const Tokenizer tokenizer = tokenizer_of(pieces());
  EXPECT_EQ(tokenizer.beginning(), Tokens{1});
  EXPECT_EQ(tokenizer.encode_prompt("a", SpecialText::parsed), (Tokens{1, kBlankA}));
  EXPECT_EQ(tokenizer.encode_prompt("<s>a", SpecialText::parsed), (Tokens{1, kBlankA}));
  EXPECT_EQ(tokenizer.encode_prompt("", SpecialText::plain), Tokens{1});
  TinyPieces no_bos = pieces();
  no_bos.add_bos = false;
  EXPECT_EQ(tokenizer_of(no_bos).encode_prompt("a", SpecialText::plain), Tokens{kBlankA});
}

TEST(SentencePiece, UserDefinedTokensAreFoundInPlainTextAndDoNotMerge) {
  TinyPieces with_user = pieces();
  with_user.add("  ", -9, 4).add("b<", -9, 4);
  const Tokenizer tokenizer = without_prefix(with_user);
  EXPECT_EQ(tokenizer.encode("a  b"), (Tokens{kA, kAbc + 1, kB}));
  EXPECT_EQ(tokenizer.encode("ab<c"), (Tokens{kA, kAbc + 2, kC}));
  EXPECT_FALSE(tokenizer.is_special(kAbc + 1));
}

TEST(SentencePiece, AnyBytesComeBack) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> any(0, 255);
  std::uniform_int_distribution<int> letter(0, 4);
  for (const bool prefix : {false, true}) {
    TinyPieces some = pieces();
    some.add_space_prefix = prefix;
    const Tokenizer tokenizer = tokenizer_of(some);
    for (int round = 0; round < 200; ++round) {
      std::string text;
      for (int i = 0; i < round; ++i) {
        text += round % 2 == 0 ? static_cast<char>(any(random)) : "abc \n"[letter(random)];
      }
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
  }
}

template <class Change>
std::string refusal(Change change) {
  TinyPieces some = pieces();
  change(some);
  const std::string error = error_of([&] { tokenizer_of(some); });
  const std::size_t path = error.find(": ");
  return path == std::string::npos ? error : error.substr(path + 2);
}

TEST(HostileSentencePiece, IsRefusedByTheKey) {
  const std::string tokens = "key 'tokenizer.ggml.tokens': ";
  EXPECT_EQ(refusal([](TinyPieces& p) { p.tokens[3 + 65] = "<0x42>"; }),
            tokens + "the token of the byte 65 appears 0 times");
  EXPECT_EQ(refusal([](TinyPieces& p) { p.tokens[3] = "<0xZZ>"; }),
            tokens + "token 3, '<0xZZ>', is not spelled as a byte");
  EXPECT_EQ(refusal([](TinyPieces& p) { p.tokens[kB] = "a"; }),
            tokens + "token 260, 'a', appears twice");
  EXPECT_EQ(refusal([](TinyPieces& p) { p.tokens[kB].clear(); }),
            tokens + "token 260, '', is empty");
  EXPECT_EQ(refusal([](TinyPieces& p) { p.scores.pop_back(); }),
            "key 'tokenizer.ggml.scores' holds 266 scores for 267 tokens");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::string error = refusal([&](TinyPieces& p) { p.scores[kA] = bad; });
    EXPECT_TRUE(error.starts_with("key 'tokenizer.ggml.scores': token 259 has the score "))
        << error;
  }
  EXPECT_EQ(refusal([](TinyPieces& p) { p.bos = 267; }),
            "key 'tokenizer.ggml.bos_token_id' is 267 of 267 tokens");
  EXPECT_EQ(refusal([](TinyPieces& p) { p.types[kA] = 0; }),
            "key 'tokenizer.ggml.token_type': token 259 has the type 0, which is not known");
}

TEST(SentencePiece, AMillionBytesWithoutASpaceTakeNoSquareTime) {
  TinyPieces some;
  for (std::string piece = "a"; piece.size() <= 64; piece += piece) some.add(piece, -1.0F);
  std::string text(1 << 20, 'a');
  EXPECT_EQ(without_prefix(some).encode(text).size(), text.size() / 64);
}

}  // namespace
}  // namespace headwise
