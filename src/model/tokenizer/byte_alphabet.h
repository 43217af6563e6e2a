#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Byte-level vocabularies spell each byte as a printable character: the printable ones of Latin-1
/// as themselves, the other 68 in order as U+0100 and up. Back to bytes; nothing if `spelling`
/// holds any other character.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace headwise
