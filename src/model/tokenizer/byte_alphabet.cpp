#include "model/tokenizer/byte_alphabet.h"

#include <array>

#include "model/tokenizer/utf8.h"

namespace headwise {
namespace {

constexpr unsigned kOutside = 256;  // no byte
constexpr unsigned kShifted = 0x100;
constexpr unsigned kCharacters = kShifted + 68;

// By character: the byte that it spells.
constexpr std::array<unsigned, kCharacters> make_table() {
  std::array<unsigned, kCharacters> table{};
  table.fill(kOutside);
  unsigned shifted = kShifted;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable = byte > 0x20 && byte != 0x7f && (byte < 0x80 || byte > 0xa0) &&
                           byte != 0xad;  // the soft hyphen
    table[printable ? byte : shifted++] = byte;
  }
  return table;
}

constexpr auto kByteOfCharacter = make_table();

// Of one or two bytes; the alphabet has no longer ones.
unsigned code_point(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0);
  if (character.size() == 2) return ((at(0) & 0x1fU) << 6) | (at(1) & 0x3fU);
  return kCharacters;
}

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const Utf8Step step = next_utf8(spelling);
    if (step.kind != Utf8Kind::character) return std::nullopt;
    const unsigned character = code_point(spelling.substr(0, step.bytes));
    if (character >= kCharacters || kByteOfCharacter[character] == kOutside) return std::nullopt;
    bytes += static_cast<char>(kByteOfCharacter[character]);
    spelling.remove_prefix(step.bytes);
  }
  return bytes;
}

}  // namespace headwise
