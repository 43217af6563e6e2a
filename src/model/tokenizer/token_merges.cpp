#include "model/tokenizer/token_merges.h"

#include <optional>

#include "model/tokenizer/merge_symbols.h"

namespace headwise {
namespace {

std::uint64_t pair_key(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

TokenMerges::TokenMerges(std::span<const TokenMerge> merges) {
  merges_.reserve(merges.size());
  for (const TokenMerge& merge : merges) {
    const auto rank = static_cast<std::uint32_t>(merges_.size());
    merges_.emplace(pair_key(merge.left, merge.right), Ranked{rank, merge.merged});
  }
}

void TokenMerges::apply(std::span<const TokenId> tokens, std::vector<TokenId>& out) const {
  if (tokens.empty()) return;
  std::vector<Symbol> symbols(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    symbols[i].token = tokens[i];
    symbols[i].begin = i;
    symbols[i].end = i + 1;
  }
  link_symbols(symbols);
  merge_symbols(symbols, [&](const Symbol& left, const Symbol& right) {
    const auto found = merges_.find(pair_key(left.token, right.token));
    return found == merges_.end()
               ? std::nullopt
               : std::optional(
                     SymbolMerge{static_cast<double>(found->second.rank), found->second.merged});
  });
  for (std::size_t at = 0; at != kNoSymbol; at = symbols[at].right) {
    out.push_back(symbols[at].token);
  }
}

}  // namespace headwise
