#include <bit>

#include "core/vector_clones.h"
#include "ops/bf16_rows.h"

namespace headwise {

HEADWISE_VECTOR_CLONES
void round_to_bf16(const float* x, std::uint16_t* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    // float_to_bf16() with choices for branches, so that the loop becomes vectors.
    const auto bits = std::bit_cast<std::uint32_t>(x[i]);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    y[i] = static_cast<std::uint16_t>((nan ? bits | 0x400000U : rounded) >> 16);
  }
}

}  // namespace headwise
