#pragma once

#include <cstdint>

namespace headwise::cuda {

/// How K and V are stored. Their products with bf16 are in bf16, with all others in F16: 8-bit
/// numbers are exact there, and so is q, after a power of two for each row.
enum class KvFormat : std::uint8_t { bf16, f16, f8, i8 };

constexpr bool is_8_bit(KvFormat format) {
  return format == KvFormat::f8 || format == KvFormat::i8;
}

}  // namespace headwise::cuda
