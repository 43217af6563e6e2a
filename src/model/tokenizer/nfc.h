#pragma once

#include <string>
#include <string_view>

namespace headwise {

/// `text` in Unicode's normal form C; bytes that are not UTF-8 stay as they are. n log n.
std::string to_nfc(std::string_view text);

}  // namespace headwise
