#include "model/vocabulary/vocabulary_checks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {

void TokenTexts::add(std::string_view text, TokenId id) {
  check(by_text_.emplace(text, id).second, key_, ": token ", id, ", ", quoted_name(text),
        ", appears twice");
}

TokenId TokenTexts::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? kNoToken : found->second;
}

void MergeReader::add(std::string_view left, std::string_view right) {
  const auto id = [&](std::string_view part) {
    const TokenId found = spelled_->find(part);
    check(found != kNoToken, key_, ": merge ", merges_.size(), ", ",
          quoted_name(concat(left, " ", right)), ", needs the token ", quoted_name(part),
          ", which is missing");
    return found;
  };
  merges_.push_back({id(left), id(right), id(concat(left, right))});
}

void MergeReader::add(std::string_view both) {
  const std::size_t space = both.find(' ');
  check(space != std::string_view::npos, key_, ": merge ", merges_.size(), ", ", quoted_name(both),
        ", is not two tokens");
  add(both.substr(0, space), both.substr(space + 1));
}

std::vector<TokenMerge> MergeReader::take() {
  std::unordered_set<std::uint64_t> pairs;
  pairs.reserve(merges_.size());
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const auto pair = static_cast<std::uint64_t>(merges_[i].left) * tokens_ +
                      static_cast<std::uint64_t>(merges_[i].right);
    check(pairs.insert(pair).second, key_, ": merge ", i, ", of the tokens ", merges_[i].left,
          " and ", merges_[i].right, ", appears twice");
  }
  return std::move(merges_);
}

void check_byte_tokens(std::string_view key, const std::vector<VocabularyToken>& tokens) {
  std::array<int, 256> count{};
  for (const VocabularyToken& token : tokens) {
    if (token.type == TokenType::byte) ++count.at(static_cast<unsigned char>(token.bytes.front()));
  }
  for (std::size_t byte = 0; byte < count.size(); ++byte) {
    check(count[byte] == 1, key, ": the token of the byte ", byte, " appears ", count[byte],
          " times");
  }
}

void add_known_end_tokens(Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 6> kEnds{"<|endoftext|>", "<|end_of_text|>",
                                                  "<|eot_id|>",    "<|eom_id|>",
                                                  "<|im_end|>",    "<end_of_turn>"};
  for (const LiteralToken& literal : vocabulary.literals) {
    if (std::ranges::find(kEnds, literal.text) != kEnds.end()) {
      vocabulary.end_tokens.push_back(literal.id);
    }
  }
}

}  // namespace headwise
