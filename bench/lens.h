#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::bench {

/// How the contexts of a batch differ.
struct Lens {
  enum class Kind : std::uint8_t {
    even,      ///< all as long
    zipf,      ///< context / 128 * k with k from 1 to 128, in proportion to 1 / k
    one_long,  ///< the first as long as asked for, the others 1/128 of it
    listed,    ///< from a file
  };
  Kind kind = Kind::even;
  std::string name = "even";  ///< as the rows print it: the kind, or the file's name
  std::vector<std::int64_t> listed;
};

/// "even", "zipf", "one-long" or the name of a file that holds a context a line (sizes take k and
/// m; "#" starts a comment). Throws Error(unknown_name) where it is none of these and no file can
/// be read, Error(invalid_input) with the line where a file holds something else.
Lens parse_lens(std::string_view text);

/// The contexts of `batch` requests, in tokens, each >= 1; the longest is `context` at most. Listed
/// ones stand for themselves, whatever `context` and `batch` are. Same seed, same contexts.
std::vector<std::int64_t> context_lengths(const Lens& lens, std::int64_t context,
                                          std::int64_t batch, std::uint64_t seed);

}  // namespace headwise::bench
