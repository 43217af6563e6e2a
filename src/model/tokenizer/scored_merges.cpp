#include "model/tokenizer/scored_merges.h"

#include <algorithm>
#include <optional>

#include "model/tokenizer/merge_symbols.h"
#include "model/tokenizer/utf8.h"

namespace headwise {
namespace {

std::vector<Symbol> characters_of(std::string_view text) {
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at < text.size();) {
    Symbol symbol;
    symbol.begin = at;
    symbol.end = at += next_utf8(text.substr(at)).bytes;
    symbols.push_back(symbol);
  }
  link_symbols(symbols);
  return symbols;
}

}  // namespace

ScoredMerges::ScoredMerges(const std::vector<VocabularyToken>& tokens) {
  by_text_.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].type != TokenType::normal) continue;
    longest_ = std::max(longest_, tokens[i].bytes.size());
    by_text_.emplace(tokens[i].bytes, Scored{static_cast<TokenId>(i), tokens[i].score});
  }
}

const ScoredMerges::Scored* ScoredMerges::find(std::string_view text) const {
  if (text.size() > longest_) return nullptr;
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? nullptr : &found->second;
}

std::vector<ScoredMerges::Piece> ScoredMerges::pieces(std::string_view text) const {
  std::vector<Symbol> symbols = characters_of(text);
  merge_symbols(symbols, [&](const Symbol& left, const Symbol& right) {
    const Scored* scored = find(text.substr(left.begin, right.end - left.begin));
    return scored == nullptr ? std::nullopt
                             : std::optional(SymbolMerge{-scored->score, scored->id});
  });
  std::vector<Piece> pieces;
  for (std::size_t at = symbols.empty() ? kNoSymbol : 0; at != kNoSymbol; at = symbols[at].right) {
    const std::string_view stretch =
        text.substr(symbols[at].begin, symbols[at].end - symbols[at].begin);
    const Scored* scored = find(stretch);
    pieces.push_back({scored == nullptr ? kNoToken : scored->id, stretch});
  }
  return pieces;
}

}  // namespace headwise
