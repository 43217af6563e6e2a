#include "bench/sizes.h"

#include <charconv>
#include <limits>

#include "core/check.h"

namespace headwise::bench {

std::int64_t parse_size(std::string_view text) {
  std::string_view digits = text;
  std::int64_t unit = 1;
  if (!digits.empty()) {
    const char suffix = digits.back();
    if (suffix == 'k' || suffix == 'K') unit = 1024;
    if (suffix == 'm' || suffix == 'M') unit = 1024 * 1024;
    if (unit > 1) digits.remove_suffix(1);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check(error == std::errc() && end == digits.data() + digits.size() && number > 0 &&
            number <= kMost / unit,
        "size '", text, "' is not a whole number of tokens from 1 to ", kMost,
        ", such as 4096, 4k or 1m");
  return number * unit;
}

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    sizes.push_back(parse_size(text.substr(start, comma - start)));
    start = comma + 1;
  }
  return sizes;
}

}  // namespace headwise::bench
