#include "model/tokenizer/literal_tokens.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace headwise {

bool LiteralTokens::add(std::string text, TokenId id) {
  auto& lengths = lengths_[static_cast<unsigned char>(text.front())];
  const std::size_t length = text.size();
  if (!by_text_.emplace(std::move(text), id).second) return false;
  const auto place = std::ranges::lower_bound(lengths, length, std::greater<>());
  if (place == lengths.end() || *place != length) lengths.insert(place, length);
  return true;
}

LiteralTokens::Match LiteralTokens::at_start(std::string_view text) const {
  for (const std::size_t length : lengths_[static_cast<unsigned char>(text.front())]) {
    if (length > text.size()) continue;
    const TokenId id = find(text.substr(0, length));
    if (id != kNoToken) return {id, length};
  }
  return {};
}

TokenId LiteralTokens::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? kNoToken : found->second;
}

}  // namespace headwise
