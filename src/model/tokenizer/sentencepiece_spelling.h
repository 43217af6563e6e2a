#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// U+2581, how SentencePiece spells a space.
constexpr std::string_view kSpaceSign = "\xe2\x96\x81";

/// `text` with a space for each U+2581.
std::string with_spaces(std::string_view text);

/// The byte of a spelling such as "<0x0A>"; nothing if `spelling` is none.
std::optional<char> byte_of_spelling(std::string_view spelling);

}  // namespace headwise
