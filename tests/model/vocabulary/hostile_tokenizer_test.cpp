#include <gtest/gtest.h>

#include "model/gguf/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "model/vocabulary/read_vocabulary.h"
#include "tests/model/error_of.h"
#include "tests/model/tiny_model.h"

namespace headwise {
namespace {

std::string error_behind_path(const GgufWriter& writer) {
  const TemporaryFile bytes(writer.text());
  const GgufFile file(bytes.path());
  const std::string error = error_of([&] { Tokenizer{read_vocabulary(file)}; });
  const std::string path = bytes.path().string() + ": ";
  return error.starts_with(path) ? error.substr(path.size()) : "no path in: " + error;
}

/// The error for a vocabulary that `change` has spoilt.
template <class Change>
std::string refusal(Change change) {
  TinyVocabulary vocabulary;
  change(vocabulary);
  GgufWriter writer;
  return error_behind_path(vocabulary.write_keys(writer));
}

TEST(HostileTokenizer, OtherKindsAreRefused) {
  EXPECT_EQ(error_behind_path(GgufWriter()), "key 'tokenizer.ggml.model' is missing");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.model = "bert"; }),
            "key 'tokenizer.ggml.model': the tokenizer model 'bert' is not supported: gpt2 and "
            "llama are");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.pre = "bloom"; }),
            "key 'tokenizer.ggml.pre': the pre-tokenizer 'bloom' is not supported: default, gpt-2, "
            "smollm, llama-bpe, qwen2 and tekken are");
}

TEST(HostileTokenizer, TokensThatDoNotFit) {
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.tokens.clear(); }),
            "key 'tokenizer.ggml.tokens' holds 0 tokens");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.types.pop_back(); }),
            "key 'tokenizer.ggml.token_type' holds 262 types for 263 tokens");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.types[5] = 7; }),
            "key 'tokenizer.ggml.token_type': token 5 has the type 7, which is not known");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.tokens[5].clear(); }),
            "key 'tokenizer.ggml.tokens': token 5, '', is empty");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.tokens[1] = "<s>"; }),
            "key 'tokenizer.ggml.tokens': token 1, '<s>', appears twice");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.tokens[262] = "he"; }),
            "key 'tokenizer.ggml.tokens': token 262, 'he', appears twice");
  for (const char* spelling : {"a b", "\xff", "\xc4", "\xe4\xb8\xad", "\xc5\x84"}) {
    const std::string error = refusal([&](TinyVocabulary& v) { v.tokens[9] = spelling; });
    EXPECT_TRUE(error.ends_with(", is not spelled in the byte alphabet")) << error;
  }
}

TEST(HostileTokenizer, MergesThatDoNotFit) {
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.merges[1] = "ll"; }),
            "key 'tokenizer.ggml.merges': merge 1, 'll', is not two tokens");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.merges[1] = "x y"; }),
            "key 'tokenizer.ggml.merges': merge 1, 'x y', needs the token 'xy', which is missing");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.merges[1] = " he"; }),
            "key 'tokenizer.ggml.merges': merge 1, ' he', needs the token '', which is missing");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.merges[1] = "h e"; }),
            "key 'tokenizer.ggml.merges': merge 1, of the tokens 107 and 104, appears twice");
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.merges[1] = "< s>"; }),
            "key 'tokenizer.ggml.merges': merge 1, '< s>', needs the token 's>', which is "
            "missing");
}

TEST(HostileTokenizer, EndTokensOutsideOfTheVocabulary) {
  EXPECT_EQ(refusal([](TinyVocabulary& v) { v.eos = 263; }),
            "key 'tokenizer.ggml.eos_token_id' is 263 of 263 tokens");
}

}  // namespace
}  // namespace headwise
