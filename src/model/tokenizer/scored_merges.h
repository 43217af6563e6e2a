#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/tokenizer/string_map.h"
#include "model/tokenizer/token_id.h"
#include "model/tokenizer/vocabulary.h"

namespace headwise {

/// SentencePiece's BPE: of all neighbours that form a token together, those whose token scores
/// highest merge first. Taku Kudo and John Richardson, "SentencePiece" (2018), and its bpe_model.
class ScoredMerges {
 public:
  ScoredMerges() = default;
  /// Takes the normal tokens of a vocabulary: no merge ends in any other.
  explicit ScoredMerges(const std::vector<VocabularyToken>& tokens);

  /// Merges the characters of `text` and calls `found(token, stretch)` for each that is left, in
  /// order; `token` is kNoToken for a character that is none. n log n in the length of the text.
  template <class Found>
  void apply(std::string_view text, const Found& found) const {
    for (const Piece& piece : pieces(text)) found(piece.token, piece.text);
  }

 private:
  struct Scored {
    TokenId id;
    float score;
  };
  struct Piece {
    TokenId token;
    std::string_view text;
  };
  std::vector<Piece> pieces(std::string_view text) const;
  const Scored* find(std::string_view text) const;

  StringMap<Scored> by_text_;
  std::size_t longest_ = 0;
};

}  // namespace headwise
