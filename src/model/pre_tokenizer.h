#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace headwise {

/// Cuts text into the pieces inside of which BPE may merge.
class PreTokenizer {
 public:
  /// `name`: the value of tokenizer.ggml.pre. Throws Error naming it if it is not known.
  explicit PreTokenizer(std::string_view name);

  /// Calls `piece` for each piece, in order; together they are `text`. Bytes that are not UTF-8
  /// form pieces of their own.
  void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

 private:
  struct Pattern;  // a compiled regular expression
  std::shared_ptr<const Pattern> pattern_;
};

}  // namespace headwise
