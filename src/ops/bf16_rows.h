#pragma once

#include <cstdint>

namespace headwise {

/// Rounds `count` numbers to bf16.
void round_to_bf16(const float* x, std::uint16_t* y, std::int64_t count);

}  // namespace headwise
