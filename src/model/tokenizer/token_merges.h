#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/token_id.h"
#include "model/tokenizer/vocabulary.h"

namespace headwise {

/// Byte-pair merges: which neighbouring tokens become one, and which pair goes first.
class TokenMerges {
 public:
  TokenMerges() = default;
  /// `merges`: first goes first.
  explicit TokenMerges(std::span<const TokenMerge> merges);

  /// Merges `tokens`, those of one piece, until no pair is left, and appends the outcome to `out`.
  /// n log n in the length of the piece.
  void apply(std::span<const TokenId> tokens, std::vector<TokenId>& out) const;

 private:
  struct Ranked {
    std::uint32_t rank;  // the lower goes first
    TokenId merged;
  };
  std::unordered_map<std::uint64_t, Ranked> merges_;  // by pair
};

}  // namespace headwise
