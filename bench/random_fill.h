#pragma once

#include <cstdint>

#include "bench/buffer.h"
#include "headwise/dtype.h"

namespace headwise::bench {

/// The variance-1 normal distribution, in 65,536 steps; i8 holds it times kInt8Units. Same seed,
/// same numbers, whatever the number of threads.
void fill_normal(Buffer& buffer, DType type, std::int64_t count, std::uint64_t seed);

/// F32 scales of i8 tokens that give them variance 1, within a factor of 0.5 to 1.5.
void fill_int8_scales(Buffer& buffer, std::int64_t count, std::uint64_t seed);

inline constexpr float kInt8Units = 32.0F;

}  // namespace headwise::bench
