#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

/// What K and V depend on besides the tokens before them.
struct PrefixExtra {
  enum class Kind : std::uint8_t {
    adapter,  ///< weights: K and V of all tokens differ. A name that is loaded anew needs a new id
    salt,     ///< whose tokens they are: nobody else finds them
    image,    ///< what stands in the place of tokens first ... first + tokens - 1
  };

  Kind kind = Kind::salt;
  std::string id;           ///< equal ids of a kind mean the same: a content hash, a version
  std::int32_t first = 0;   ///< image only: its first token's place in the sequence
  std::int32_t tokens = 0;  ///< image only: at least 1
};

/// All extras of a sequence, in any order. Sequences share a prefix where its tokens and extras are
/// equal.
using PrefixKey = std::vector<PrefixExtra>;

/// Throws Error(invalid_input) that names the extra and what is wrong with it.
void validate(const PrefixKey& key);

}  // namespace headwise
