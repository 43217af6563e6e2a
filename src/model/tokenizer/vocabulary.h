#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tokenizer/token_id.h"

namespace headwise {

/// How a text becomes tokens, once it is cut into pieces.
enum class TokenizerKind : std::uint8_t {
  byte_level,  ///< each byte a token, then merges as they are ranked
  ranked,      ///< each character a token, or its bytes where it has none; merges as ranked
  scored,      ///< SentencePiece: as above, merging what gives the token of the highest score
};

enum class TokenType : std::uint8_t { normal, unknown, control, user_defined, unused, byte };

struct VocabularyToken {
  std::string bytes;  ///< what it stands for: spaces, not U+2581; one byte for "<0x0A>"
  TokenType type = TokenType::normal;
  float score = 0.0F;  ///< of `scored`; finite
};

/// Two neighbouring tokens that become one.
struct TokenMerge {
  TokenId left = kNoToken;
  TokenId right = kNoToken;
  TokenId merged = kNoToken;
};

/// A token that is found by its text, before anything is merged; the longest one goes first.
struct LiteralToken {
  std::string text;
  TokenId id = kNoToken;
  bool after_normalisation = false;  ///< looked for in the text as it has been normalised
};

/// The space that is put before a text, so that its first word is spelled as any other.
struct PrefixSpace {
  bool added = false;
  bool first_only = false;    ///< not behind special tokens, where a text begins anew
  bool unless_there = false;  ///< not where there is one
};

/// What a file says of a tokenizer, whatever its layout. Ids, merges and scores are checked: what
/// refers to a token refers to one that there is.
struct Vocabulary {
  TokenizerKind kind = TokenizerKind::byte_level;
  std::vector<VocabularyToken> tokens;  ///< by id
  std::vector<TokenMerge> merges;       ///< first goes first; none twice; empty for `scored`
  bool whole_pieces_first = false;      ///< a piece that is a token is not merged
  std::vector<LiteralToken> literals;   ///< no text twice
  std::vector<std::string> patterns;    ///< of PreTokenizer, each for what the one before left
  bool nfc = false;                     ///< text is put into Unicode's normal form C
  PrefixSpace prefix_space;             ///< not with byte_level
  bool add_bos = false;                 ///< a text begins with the token `bos`
  TokenId bos = kNoToken;
  std::vector<TokenId> end_tokens;  ///< after which generation stops; at least one
  std::string chat_template;        ///< Jinja source; empty: none
};

}  // namespace headwise
