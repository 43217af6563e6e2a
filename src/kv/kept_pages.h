#pragma once

#include <algorithm>
#include <cstdint>

namespace headwise {

/// Pages that `tokens` tokens fill or begin.
constexpr std::int64_t pages_of(std::int64_t tokens, std::int64_t page_size) {
  return tokens / page_size + (tokens % page_size != 0 ? 1 : 0);
}

/// The first page that a token at position `length`, or a later one, may see: of a window, none
/// before holds a visible slot. window_left -1 is unlimited.
constexpr std::int64_t first_kept_page(std::int64_t window_left, std::int64_t length,
                                       std::int64_t page_size) {
  if (window_left < 0) return 0;
  return std::max(length - window_left, std::int64_t{0}) / page_size;
}

}  // namespace headwise
