#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/string_map.h"
#include "model/tokenizer/token_id.h"

namespace headwise {

/// Tokens that are found by their text.
class LiteralTokens {
 public:
  struct Match {
    TokenId id = kNoToken;
    std::size_t length = 0;  ///< in bytes; 0: no match
  };

  /// `text` is not empty. False, and nothing is added, if it is there already.
  bool add(std::string text, TokenId id);
  bool empty() const { return by_text_.empty(); }

  /// The longest one that `text` begins with.
  Match at_start(std::string_view text) const;
  /// The one that is all of `text`, or kNoToken.
  TokenId find(std::string_view text) const;

  /// Calls `token(id)` for the longest ones, found from left to right, and `stretch(text)` for what
  /// lies between them, in order.
  template <class Token, class Stretch>
  void split(std::string_view text, const Token& token, const Stretch& stretch) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size() && !empty();) {
      const Match match = at_start(text.substr(at));
      if (match.length == 0) {
        ++at;
        continue;
      }
      if (at > done) stretch(text.substr(done, at - done));
      token(match.id);
      at += match.length;
      done = at;
    }
    if (done < text.size()) stretch(text.substr(done));
  }

 private:
  StringMap<TokenId> by_text_;
  std::vector<std::vector<std::size_t>> lengths_ =
      std::vector<std::vector<std::size_t>>(256);  // by first byte: longest first
};

}  // namespace headwise
