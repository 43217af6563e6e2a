#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/literal_tokens.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/scored_merges.h"
#include "model/tokenizer/string_map.h"
#include "model/tokenizer/token_id.h"
#include "model/tokenizer/token_merges.h"
#include "model/tokenizer/vocabulary.h"

namespace headwise {

/// What becomes of the text of a special token, such as "<|im_end|>", inside a text to encode.
/// User-defined tokens, which mark nothing up, are found in either case.
enum class SpecialText {
  plain,   ///< ordinary characters: for text from outside, which must not forge markup
  parsed,  ///< the special token
};

/// Byte-level BPE, or SentencePiece's with byte fallback. Const members may be called from several
/// threads.
class Tokenizer {
 public:
  /// `vocabulary` is as read_vocabulary gives it.
  explicit Tokenizer(Vocabulary vocabulary);

  /// Any bytes, valid UTF-8 or not. No beginning or end token is added. Bytes that no token of the
  /// vocabulary holds are left out; unencodable_bytes counts them. decode gives the text back, but
  /// for such bytes, U+2581 (a space to SentencePiece), what form C changes where the model asks
  /// for it, and a leading space where the prefix space is added only if there is none. `first`:
  /// nothing lies in front of the text, not even a special token.
  std::vector<TokenId> encode(std::string_view text, SpecialText special = SpecialText::plain,
                              bool first = true) const;
  /// As above, behind beginning(), unless the text itself begins with that token.
  std::vector<TokenId> encode_prompt(std::string_view text, SpecialText special) const;
  /// The beginning-of-sequence token if the model wants a text to begin with it, else nothing.
  std::vector<TokenId> beginning() const;
  std::size_t unencodable_bytes(std::string_view text) const;

  /// The bytes that the tokens stand for, special tokens as their text, without the prefix spaces
  /// that encode adds; maybe not valid UTF-8. Throws Error naming the id if it is outside of the
  /// vocabulary.
  std::string decode(std::span<const TokenId> tokens) const;

  int vocab_size() const { return static_cast<int>(vocabulary_.tokens.size()); }
  /// The bytes of one token, as they continue a text: a prefix space is kept. Valid as long as the
  /// tokenizer. Throws as decode does.
  const std::string& bytes(TokenId token) const;
  bool is_special(TokenId token) const;
  /// The id of a special or user-defined token by its text. Throws Error naming the text if there
  /// is none.
  TokenId special(std::string_view text) const;
  /// True for the tokens after which generation stops: eos and its like.
  bool ends_generation(TokenId token) const;
  /// The source of the chat template that came with the vocabulary; empty if none did.
  const std::string& chat_template() const { return vocabulary_.chat_template; }

 private:
  struct Literals {
    LiteralTokens raw;
    LiteralTokens normalised;
  };
  void add_literals();
  void encode_stretch(std::string_view text, bool first, const Literals& literals,
                      std::vector<TokenId>& out) const;
  std::string normalise(std::string_view text, bool first) const;
  void encode_piece(std::string_view piece, std::vector<TokenId>& out) const;
  void append_bytes(std::string_view text, std::vector<TokenId>& out) const;
  void append_characters(std::string_view text, std::vector<TokenId>& out) const;

  Vocabulary vocabulary_;
  PreTokenizer pre_tokenizer_;
  TokenMerges merges_;
  ScoredMerges scored_;
  std::array<Literals, 2> literals_;  // by SpecialText
  StringMap<TokenId> by_bytes_;       // normal tokens
  std::vector<TokenId> byte_token_;   // by byte, 256; kNoToken where there is none
  std::vector<bool> begins_anew_;     // by token: what is behind it is a stretch of its own
};

}  // namespace headwise
