#include "core/number_formats.h"

#include <gtest/gtest.h>

#include <random>

namespace headwise {
namespace {

/// A binary format by its definition: sign, exponent field of `exponent_bits`, `mantissa_bits`.
double decoded(unsigned bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1U);
  const unsigned exponent = (bits >> mantissa_bits) & ((1U << exponent_bits) - 1U);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned top = (1U << exponent_bits) - 1U;
  const double sign = ((bits >> (exponent_bits + mantissa_bits)) & 1U) != 0 ? -1.0 : 1.0;
  if (has_infinity && exponent == top)
    return mantissa == 0 ? sign * INFINITY : std::numeric_limits<double>::quiet_NaN();
  if (!has_infinity && exponent == top && mantissa == (1U << mantissa_bits) - 1U)
    return std::numeric_limits<double>::quiet_NaN();
  const double fraction = std::ldexp(static_cast<double>(mantissa), -mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
}

template <class Bits>
struct Format {
  const char* name;
  unsigned codes;
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  float (*up)(Bits);
  Bits (*down)(float);
};

template <class Bits>
void expect_every_code_decodes_and_comes_back(const Format<Bits>& f) {
  for (unsigned bits = 0; bits < f.codes; ++bits) {
    const double expected = decoded(bits, f.exponent_bits, f.mantissa_bits, f.has_infinity);
    const float value = f.up(static_cast<Bits>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << f.name << " " << bits;
      EXPECT_TRUE(std::isnan(f.up(f.down(value)))) << f.name << " " << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << f.name << " " << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << f.name << " " << bits;
    ASSERT_EQ(f.down(value), static_cast<Bits>(bits)) << f.name << " " << bits;
  }
}

/// The nearest code by search over its neighbours; ties go to the even one.
template <class Bits>
void expect_nearest_even(const Format<Bits>& f, float x) {
  const Bits code = f.down(x);
  const double value = f.up(code);
  const auto magnitude = static_cast<unsigned>(code) & (f.codes / 2 - 1);
  for (const int step : {-1, 1}) {
    if ((step < 0 && magnitude == 0)) continue;
    const double neighbour = f.up(static_cast<Bits>(code + step));
    if (!std::isfinite(neighbour) || !std::isfinite(value)) continue;
    const double here = std::fabs(value - x);
    const double there = std::fabs(neighbour - x);
    ASSERT_LE(here, there) << f.name << " of " << x;
    if (here == there) {
      ASSERT_EQ(code % 2, 0) << f.name << " of the tie " << x;
    }
  }
}

template <class Bits>
void expect_roundings(const Format<Bits>& f, float largest) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(-30.0F, std::log2(largest));
  for (int i = 0; i < 200000; ++i)
    expect_nearest_even(f, std::exp2(exponent(random)) * (random() % 2 == 0 ? 1.0F : -1.0F));
  for (unsigned bits = 0; bits + 1 < f.codes / 2; ++bits) {  // every midpoint is a tie
    const double middle =
        (static_cast<double>(f.up(static_cast<Bits>(bits))) + f.up(static_cast<Bits>(bits + 1))) /
        2;
    if (std::isfinite(middle)) expect_nearest_even(f, static_cast<float>(middle));
  }
}

const Format<std::uint16_t> kBf16{"bf16", 1U << 16, 8, 7, true, bf16_to_float, float_to_bf16};
const Format<std::uint16_t> kF16{"f16", 1U << 16, 5, 10, true, f16_to_float, float_to_f16};
const Format<std::uint8_t> kE4m3{"f8e4m3", 1U << 8, 4, 3, false, e4m3_to_float, float_to_e4m3};

TEST(NumberFormats, EveryCodeDecodesByTheDefinitionAndComesBack) {
  expect_every_code_decodes_and_comes_back(kBf16);
  expect_every_code_decodes_and_comes_back(kF16);
  expect_every_code_decodes_and_comes_back(kE4m3);
}

TEST(NumberFormats, RoundsToNearestEven) {
  expect_roundings(kBf16, 3e38F);
  expect_roundings(kF16, 65000.0F);
  expect_roundings(kE4m3, 448.0F);
}

TEST(NumberFormats, E4m3SaturatesAndKeepsNan) {
  for (const float x : {448.0F, 464.0F, 1e9F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(e4m3_to_float(float_to_e4m3(x)), 448.0F) << x;
    EXPECT_EQ(e4m3_to_float(float_to_e4m3(-x)), -448.0F) << x;
  }
  EXPECT_TRUE(std::isnan(e4m3_to_float(float_to_e4m3(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(NumberFormats, F16OverflowsToInfinity) {
  EXPECT_EQ(f16_to_float(float_to_f16(65519.0F)), 65504.0F);
  EXPECT_EQ(f16_to_float(float_to_f16(65520.0F)), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace headwise
