#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// What GGUF's tokenizer.ggml.pre stands for.
struct PreTokenizerRules {
  std::vector<std::string> patterns;  ///< of PreTokenizer
  bool nfc = false;                   ///< the model's own tokenizer normalises
  bool whole_pieces_first = false;
  bool add_bos = false;  ///< where the file does not say
};

/// Throws Error naming `name` if it is not known.
PreTokenizerRules rules_of_pre_tokenizer(std::string_view name);

/// The patterns that models of these families cut text with, as their files write them.
bool is_known_pattern(std::string_view pattern);

extern const std::string_view kGpt2Pattern;    ///< what "ByteLevel" alone cuts by
extern const std::string_view kDigitPattern;   ///< each digit alone
extern const std::string_view kDigitsPattern;  ///< digits apart from other signs

}  // namespace headwise
