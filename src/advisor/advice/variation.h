#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headwise/dtype.h"

namespace headwise {

/// What can be asked of a model: "what if it were ...?" Whatever is not named stays.
enum class Parameter : std::uint8_t {
  kv_heads,    ///< query heads stay
  group_size,  ///< query heads a KV head; query heads stay
  head_dim,    ///< as many fewer heads as they are wider: the width of queries, K and V stays,
               ///< but that one KV head stays one
  window,      ///< tokens of windowed and chunked layers; of full ones where there are no others
  full_every,  ///< each n-th layer sees all tokens, the others are linear or windowed (what_if.h)
  kv_type,     ///< the cache's format
  mla_rank,    ///< kv_lora_rank
};
const char* name_of(Parameter parameter);  ///< as above

/// Throws Error(unknown_name) that lists the names.
Parameter parse_parameter(std::string_view name);

/// A parameter's other value.
struct Variation {
  Parameter parameter = Parameter::kv_heads;
  std::int64_t count = 0;  ///< of a window 0: none, all tokens are seen
  DType type = DType::bf16;
  std::string text;  ///< as it was asked
};

Variation count_variation(Parameter parameter, std::int64_t count);
Variation type_variation(DType type);

/// A whole number from 1 to 2^31 - 1, of a window also with k or m (1024s) or "full"; of kv_type a
/// type's name. Throws Error, one line that names the text.
Variation parse_variation(Parameter parameter, std::string_view text);

}  // namespace headwise
