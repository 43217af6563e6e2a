#pragma once

// Conversions between stored numbers and float, exact on the way up, round-to-nearest-even on the
// way down. Formats: bfloat16; IEEE 754 binary16; OCP 8-bit floating point (OFP8 1.0) E4M3.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace headwise {

inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

inline float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t widened = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << 13));
}

inline std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and up
  if (magnitude < 0x38800000U) {  // below 2^-14: adding 2^-1 leaves multiples of 2^-24, rounded
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rebased = magnitude - (112U << 23);
  return static_cast<std::uint16_t>(sign | ((rebased + 0xfffU + ((rebased >> 13) & 1U)) >> 13));
}

inline float e4m3_to_float(std::uint8_t code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                  : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  if ((code & 0x7f) == 0x7f) magnitude = std::numeric_limits<float>::quiet_NaN();
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

/// Saturates beyond +-448, infinity included; NaN stays NaN. Choices, not branches: loops over it
/// become vectors.
inline std::uint8_t float_to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Below 2^-6: adding 2^14 leaves multiples of 2^-9, rounded.
  const float shifted = std::bit_cast<float>(magnitude) + 0x1p14F;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(shifted) - 0x46800000U;
  const std::uint32_t rebased = magnitude - (120U << 23);
  const std::uint32_t normal = (rebased + 0x7ffffU + ((rebased >> 20) & 1U)) >> 20;
  std::uint32_t code = magnitude < 0x3c800000U ? small : normal;
  code = magnitude >= 0x43e00000U ? 0x7eU : code;  // 448 and up
  code = magnitude > 0x7f800000U ? 0x7fU : code;
  return static_cast<std::uint8_t>(code | ((bits >> 24) & 0x80U));
}

}  // namespace headwise
