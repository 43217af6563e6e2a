#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace headwise {

using TokenId = std::int32_t;

/// Byte-pair merges: which neighbouring tokens become one, and which pair goes first.
class TokenMerges {
 public:
  /// Pairs added earlier go first. False, and nothing is added, if the pair is there already.
  bool add(TokenId left, TokenId right, TokenId merged);

  /// Merges `tokens`, the bytes of one piece, until no pair is left, and appends the outcome to
  /// `out`. n log n in the length of the piece.
  void apply(std::span<const TokenId> tokens, std::vector<TokenId>& out) const;

 private:
  struct Merge {
    std::size_t rank;  // the lower goes first
    TokenId merged;
  };
  const Merge* find(TokenId left, TokenId right) const;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace headwise
