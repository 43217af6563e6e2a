#pragma once

#include <string>

#include "model/tokenizer/tokenizer.h"

namespace headwise {

/// Turns tokens into text as they come. Holds back bytes that may yet become a character, so that
/// each part is valid UTF-8; bytes that cannot are replaced by U+FFFD.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that `token` completes, maybe empty. Throws Error if it is outside the vocabulary.
  std::string push(TokenId token);
  /// What was held back; the decoder is then as new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
};

}  // namespace headwise
