#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Cuts text into the pieces inside of which BPE may merge.
class PreTokenizer {
 public:
  /// Patterns in the syntax of Oniguruma, the first for the whole text, each other for the pieces
  /// of the one before; none: a text is one piece. Matches are pieces, and so is what lies between
  /// them. \s is Unicode's white space. Throws Error if a pattern does not compile.
  explicit PreTokenizer(std::span<const std::string> patterns);

  /// Calls `piece` for each piece, in order; together they are `text`. Bytes that are not UTF-8
  /// match no pattern.
  void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

 private:
  class Pattern;  // a compiled regular expression
  std::vector<std::shared_ptr<const Pattern>> patterns_;
};

}  // namespace headwise
