#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace headwise {

enum class Utf8Kind { character, incomplete, invalid };

struct Utf8Step {
  Utf8Kind kind;
  std::size_t bytes;  ///< of the character, or of the longest beginning of one; at least 1
};

/// What `text`, not empty, begins with. `incomplete`: all of it is the beginning of a character.
inline Utf8Step next_utf8(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return {Utf8Kind::character, 1};
  if (lead < 0xc2 || lead > 0xf4) return {Utf8Kind::invalid, 1};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte's range keeps out overlong forms, surrogates and what is past U+10FFFF.
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < std::min(length, text.size()); ++i) {
    const bool fits = i == 1 ? at(1) >= low && at(1) <= high : (at(i) & 0xc0U) == 0x80;
    if (!fits) return {Utf8Kind::invalid, i};
  }
  if (text.size() < length) return {Utf8Kind::incomplete, text.size()};
  return {Utf8Kind::character, length};
}

}  // namespace headwise
