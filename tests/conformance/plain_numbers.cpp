#include "tests/conformance/plain_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headwise::conformance {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  std::uint32_t largest;  ///< code of the largest number
  bool infinity;

  std::uint32_t sign() const { return 1U << (exponent_bits + mantissa_bits); }
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5, 10, 0x7bff, true};
    case DType::bf16:
      return {8, 7, 0x7f7f, true};
    case DType::f8e4m3:
      return {4, 3, 0x7e, false};
    default:
      return {8, 23, 0x7f7fffff, true};
  }
}

/// Codes past the largest one go on as if exponents did.
double value_of(const Format& format, std::uint32_t code) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(code >> format.mantissa_bits);
  const std::uint32_t one = 1U << format.mantissa_bits;
  const std::uint32_t fraction = code & (one - 1);
  const double units = exponent == 0 ? fraction : one + fraction;
  return std::ldexp(units, std::max(exponent, 1) - bias - format.mantissa_bits);
}

double round_half_to_even(double x) {
  const double below = std::floor(x);
  const double rest = x - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1.0;
  return std::fmod(below, 2.0) == 0.0 ? below : below + 1.0;
}

}  // namespace

double plain_value(DType dtype, std::uint32_t bits) {
  const Format format = format_of(dtype);
  const std::uint32_t code = bits & (format.sign() - 1);
  const double sign = (bits & format.sign()) != 0 ? -1.0 : 1.0;
  if (code <= format.largest) return sign * value_of(format, code);
  if (format.infinity && code == format.largest + 1)
    return sign * std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

std::uint32_t plain_bits(DType dtype, double value) {
  const Format format = format_of(dtype);
  if (std::isnan(value)) return format.sign() - 1;
  const double magnitude = std::fabs(value);
  const std::uint32_t most = format.largest + (format.infinity ? 1 : 0);
  std::uint32_t low = 0;  // the last code whose value is not above the magnitude
  for (std::uint32_t end = most + 1; end - low > 1;) {
    const std::uint32_t middle = low + (end - low) / 2;
    (value_of(format, middle) <= magnitude ? low : end) = middle;
  }
  if (low < most) {
    const double down = magnitude - value_of(format, low);
    const double up = value_of(format, low + 1) - magnitude;
    if (up < down || (up == down && low % 2 == 1)) ++low;
  }
  return low | (std::signbit(value) ? format.sign() : 0U);
}

PlainRow plain_i8(const std::vector<double>& row) {
  PlainRow result{0.0F, std::vector<std::int8_t>(row.size(), 0)};
  double largest = 0.0;
  for (const double x : row)
    if (std::isnan(x) || std::fabs(x) > largest) {
      largest = std::fabs(x);
      if (std::isnan(x)) break;
    }
  // A quotient of F32 numbers is the same rounded from double (Figueroa 1995).
  result.scale = static_cast<float>(largest / 127.0);
  if (std::isnan(largest)) result.scale = std::bit_cast<float>(0x7fffffffU);
  if (!std::isfinite(largest) || result.scale == 0.0F) return result;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double code = static_cast<float>(row[i] / static_cast<double>(result.scale));
    result.codes[i] = static_cast<std::int8_t>(round_half_to_even(std::clamp(code, -127.0, 127.0)));
  }
  return result;
}

}  // namespace headwise::conformance
