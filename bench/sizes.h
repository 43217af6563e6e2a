#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headwise::bench {

/// "4096", "4k", "1m": k and m are 1024s. Throws Error(invalid_input) that names the text, also
/// where the number is not positive or above 2^31 - 1, the longest request.
std::int64_t parse_size(std::string_view text);

/// "4k,32k". The same errors.
std::vector<std::int64_t> parse_sizes(std::string_view text);

}  // namespace headwise::bench
