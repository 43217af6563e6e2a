#include "model/tokenizer/sentencepiece_spelling.h"

#include <algorithm>
#include <charconv>

namespace headwise {

std::string with_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t sign = std::min(text.find(kSpaceSign, at), text.size());
    out += text.substr(at, sign - at);
    if (sign < text.size()) out += ' ';
    at = sign + kSpaceSign.size();
  }
  return out;
}

std::optional<char> byte_of_spelling(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling.back() != '>') return {};
  unsigned byte = 0;
  const char* end = spelling.data() + 5;
  if (std::from_chars(spelling.data() + 3, end, byte, 16).ptr != end) return {};
  return static_cast<char>(byte);
}

}  // namespace headwise
