#pragma once

#include <cstdint>
#include <vector>

#include "headwise/dtype.h"

namespace headwise::conformance {

// Number formats by their definition, bit fields and a search for the nearest code: slow, and not
// the library's way.

/// What the bits of an f32, f16, bf16 or f8e4m3 number mean; NaN, infinities included.
double plain_value(DType dtype, std::uint32_t bits);

/// The nearest number of a type, ties to the even code. Past the largest one there is infinity, for
/// f8e4m3 the largest one again. A NaN has all bits below the sign set.
std::uint32_t plain_bits(DType dtype, double value);

/// A row as int8 codes with one scale.
struct PlainRow {
  float scale;
  std::vector<std::int8_t> codes;
};
PlainRow plain_i8(const std::vector<double>& row);

}  // namespace headwise::conformance
