#pragma once

#include <string_view>
#include <vector>

#include "model/tokenizer/string_map.h"
#include "model/tokenizer/vocabulary.h"

// What the readers of vocabularies share. `key` is where the tokens stand in the file, for errors.

namespace headwise {

/// Adds the normal, the special and the user-defined tokens' texts. Throws Error naming a token
/// whose text stands there twice.
class TokenTexts {
 public:
  explicit TokenTexts(std::string_view key) : key_(key) {}
  void add(std::string_view text, TokenId id);
  /// kNoToken if there is none.
  TokenId find(std::string_view text) const;
  void reserve(std::size_t count) { by_text_.reserve(count); }

 private:
  std::string_view key_;
  StringMap<TokenId> by_text_;
};

/// Reads merges spelled as tokens are; throws Error naming the merge that does not fit.
class MergeReader {
 public:
  /// `spelled`: the tokens that may be merged.
  MergeReader(std::string_view key, const TokenTexts& spelled, std::size_t tokens)
      : key_(key), spelled_(&spelled), tokens_(tokens) {}
  void add(std::string_view left, std::string_view right);
  /// As "left right".
  void add(std::string_view both);
  std::vector<TokenMerge> take();

 private:
  std::string_view key_;
  const TokenTexts* spelled_;
  std::size_t tokens_;
  std::vector<TokenMerge> merges_;
};

/// Throws Error unless there is a token for each byte, once.
void check_byte_tokens(std::string_view key, const std::vector<VocabularyToken>& tokens);

/// The ids of tokens that end a turn or a text in the families that are read, where `vocabulary`
/// has them, are added to its end tokens.
void add_known_end_tokens(Vocabulary& vocabulary);

}  // namespace headwise
