#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "model/tokenizer/token_id.h"

namespace headwise {

constexpr std::size_t kNoSymbol = static_cast<std::size_t>(-1);

/// A stretch of a text that is one token, or none yet, between its neighbours.
struct Symbol {
  TokenId token = kNoToken;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t left = kNoSymbol;
  std::size_t right = kNoSymbol;
};

/// What two neighbouring symbols may become.
struct SymbolMerge {
  double order = 0.0;  ///< the lower goes first; of equals, the leftmost
  TokenId token = kNoToken;
};

/// Links symbols that lie one after another.
inline void link_symbols(std::vector<Symbol>& symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].left = i == 0 ? kNoSymbol : i - 1;
    symbols[i].right = i + 1 == symbols.size() ? kNoSymbol : i + 1;
  }
}

/// Merges neighbours, best first, until `find(left, right)`, an optional<SymbolMerge>, finds none.
/// What is left are the symbols from the first one along `right`. n log n.
template <class Find>
void merge_symbols(std::vector<Symbol>& symbols, const Find& find) {
  struct Candidate {
    double order;
    std::size_t at;   // of the left symbol
    std::size_t mid;  // the ends of both tell whether they are still what they were
    std::size_t end;
    TokenId token;
    bool operator>(const Candidate& other) const {
      return std::tie(order, at) > std::tie(other.order, other.at);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto note = [&](std::size_t at) {
    if (at == kNoSymbol || symbols[at].right == kNoSymbol) return;
    const Symbol& right = symbols[symbols[at].right];
    if (const std::optional<SymbolMerge> merge = find(symbols[at], right)) {
      queue.push({merge->order, at, right.begin, right.end, merge->token});
    }
  };
  for (std::size_t at = 0; at < symbols.size(); ++at) note(at);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (left.end != best.mid || left.right == kNoSymbol) continue;
    Symbol& right = symbols[left.right];
    if (right.end != best.end) continue;
    left.token = best.token;
    left.end = right.end;
    left.right = right.right;
    right.end = right.begin;  // gone: no candidate has such an end
    if (left.right != kNoSymbol) symbols[left.right].left = best.at;
    note(left.left);
    note(best.at);
  }
}

}  // namespace headwise
