#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/gguf/gguf.h"
#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/sentencepiece_spelling.h"
#include "model/tokenizer/split_patterns.h"
#include "model/vocabulary/read_vocabulary.h"
#include "model/vocabulary/vocabulary_checks.h"

namespace headwise {
namespace {

constexpr std::string_view kTokens = "key 'tokenizer.ggml.tokens'";

TokenType type_of(std::int64_t number, std::size_t token) {
  check(number >= 1 && number <= 6, "key 'tokenizer.ggml.token_type': token ", token,
        " has the type ", number, ", which is not known");
  return static_cast<TokenType>(number - 1);  // the format counts from 1, in the same order
}

std::string bytes_of(std::string_view spelling, TokenType type, TokenizerKind kind,
                     std::size_t token) {
  const auto refuse_unless = [&](bool ok, std::string_view why) {
    check(ok, kTokens, ": token ", token, ", ", quoted_name(spelling), ", ", why);
  };
  refuse_unless(!spelling.empty(), "is empty");
  if (type == TokenType::byte) {
    refuse_unless(kind == TokenizerKind::scored, "is a byte, which model 'gpt2' has no type for");
    const auto byte = byte_of_spelling(spelling);
    refuse_unless(byte.has_value(), "is not spelled as a byte");
    return {*byte};
  }
  if (kind == TokenizerKind::scored) {
    const bool spaced = type == TokenType::normal || type == TokenType::user_defined;
    return spaced ? with_spaces(spelling) : std::string(spelling);
  }
  if (type != TokenType::normal) return std::string(spelling);
  const auto bytes = bytes_of_spelling(spelling);
  refuse_unless(bytes.has_value(), "is not spelled in the byte alphabet");
  return *bytes;
}

// Fills the tokens and literals; gives the spellings of normal tokens.
TokenTexts read_tokens(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  const auto spellings = metadata.strings("tokenizer.ggml.tokens");
  const auto types = metadata.integers("tokenizer.ggml.token_type");
  check(!spellings.empty() && spellings.size() <= std::numeric_limits<TokenId>::max(), kTokens,
        " holds ", spellings.size(), " tokens");
  check(types.size() == spellings.size(), "key 'tokenizer.ggml.token_type' holds ", types.size(),
        " types for ", spellings.size(), " tokens");
  TokenTexts normal(kTokens);
  TokenTexts literal(kTokens);
  normal.reserve(spellings.size());
  vocabulary.tokens.reserve(spellings.size());
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const TokenType type = type_of(types[i], i);
    std::string bytes = bytes_of(spellings[i], type, vocabulary.kind, i);
    if (type == TokenType::normal) {
      normal.add(vocabulary.kind == TokenizerKind::scored ? bytes : spellings[i], id);
    } else if (type != TokenType::byte && type != TokenType::unused) {
      literal.add(bytes, id);
      const bool spaced =
          vocabulary.kind == TokenizerKind::scored && type == TokenType::user_defined;
      vocabulary.literals.push_back({bytes, id, spaced});
    }
    vocabulary.tokens.push_back({std::move(bytes), type});
  }
  return normal;
}

void read_scores(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  constexpr std::string_view kScores = "key 'tokenizer.ggml.scores'";
  const auto scores = metadata.floats("tokenizer.ggml.scores");
  check(scores.size() == vocabulary.tokens.size(), kScores, " holds ", scores.size(),
        " scores for ", vocabulary.tokens.size(), " tokens");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    check(std::isfinite(scores[i]), kScores, ": token ", i, " has the score ", scores[i]);
    vocabulary.tokens[i].score = scores[i];
  }
}

bool flag(const GgufMetadata& metadata, std::string_view key, bool otherwise) {
  return metadata.has(key) ? metadata.boolean(key) : otherwise;
}

TokenId token_id(const GgufMetadata& metadata, std::string_view key, const Vocabulary& vocabulary) {
  const std::uint64_t id = metadata.unsigned_integer(key);
  check(id < vocabulary.tokens.size(), "key ", quoted_name(key), " is ", id, " of ",
        vocabulary.tokens.size(), " tokens");
  return static_cast<TokenId>(id);
}

void refuse_flag(const GgufMetadata& metadata, std::string_view key) {
  check(!flag(metadata, key, false), "key ", quoted_name(key), " is true, which is not supported");
}

void read_byte_level(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  vocabulary.kind = TokenizerKind::byte_level;
  PreTokenizerRules rules = rules_of_pre_tokenizer(metadata.string("tokenizer.ggml.pre"));
  vocabulary.patterns = std::move(rules.patterns);
  vocabulary.nfc = rules.nfc;
  vocabulary.whole_pieces_first = rules.whole_pieces_first;
  refuse_flag(metadata, "tokenizer.ggml.add_space_prefix");
  vocabulary.add_bos = flag(metadata, "tokenizer.ggml.add_bos_token", rules.add_bos);
  const TokenTexts spelled = read_tokens(metadata, vocabulary);
  MergeReader merges("key 'tokenizer.ggml.merges'", spelled, vocabulary.tokens.size());
  for (const std::string_view merge : metadata.strings("tokenizer.ggml.merges")) merges.add(merge);
  vocabulary.merges = merges.take();
}

void read_scored(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  vocabulary.kind = TokenizerKind::scored;
  constexpr std::string_view kPre = "tokenizer.ggml.pre";
  const std::string_view pre = metadata.has(kPre) ? metadata.string(kPre) : "default";
  check(pre == "default", "key ", quoted_name(kPre), ": the pre-tokenizer ", quoted_name(pre),
        " is not supported with model 'llama': default is");
  constexpr std::string_view kMap = "tokenizer.ggml.precompiled_charsmap";
  check(!metadata.has(kMap), "key ", quoted_name(kMap), " is not supported");
  refuse_flag(metadata, "tokenizer.ggml.remove_extra_whitespaces");
  vocabulary.prefix_space.added = flag(metadata, "tokenizer.ggml.add_space_prefix", true);
  vocabulary.add_bos = flag(metadata, "tokenizer.ggml.add_bos_token", true);
  read_tokens(metadata, vocabulary);
  check_byte_tokens(kTokens, vocabulary.tokens);
  read_scores(metadata, vocabulary);
}

void read_special_ids(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  constexpr std::string_view kBos = "tokenizer.ggml.bos_token_id";
  if (vocabulary.add_bos || metadata.has(kBos)) {
    vocabulary.bos = token_id(metadata, kBos, vocabulary);
  }
  constexpr std::string_view kEos = "tokenizer.ggml.eos_token_id";
  vocabulary.end_tokens.push_back(token_id(metadata, kEos, vocabulary));
  for (const std::string_view key :
       {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (metadata.has(key)) vocabulary.end_tokens.push_back(token_id(metadata, key, vocabulary));
  }
  add_known_end_tokens(vocabulary);
}

}  // namespace

Vocabulary read_vocabulary(const GgufFile& file) try {
  const GgufMetadata& metadata = file.metadata();
  Vocabulary vocabulary;
  const std::string_view model = metadata.string("tokenizer.ggml.model");
  check(model == "gpt2" || model == "llama", "key 'tokenizer.ggml.model': the tokenizer model ",
        quoted_name(model), " is not supported: gpt2 and llama are");
  model == "gpt2" ? read_byte_level(metadata, vocabulary) : read_scored(metadata, vocabulary);
  refuse_flag(metadata, "tokenizer.ggml.add_eos_token");
  read_special_ids(metadata, vocabulary);
  constexpr std::string_view kTemplate = "tokenizer.chat_template";
  if (metadata.has(kTemplate)) vocabulary.chat_template = metadata.string(kTemplate);
  return vocabulary;
} catch (const Error& error) {
  throw Error(error.code(), concat(file.path().string(), ": ", error.what()));
}

}  // namespace headwise
