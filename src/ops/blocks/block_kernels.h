#pragma once

// Products of few rows of x with a stored matrix, four rows of it at a time. For block_product.cpp;
// an instruction set a file.

#include <cstddef>
#include <cstdint>

#include "core/quantised_blocks.h"

namespace headwise {

/// Elements of a row of x that share a step.
inline constexpr int kFixedPointGroup = 32;

/// A row in 16-bit fixed point: element i is step[i / 32] * (256 * high[i] + low[i]), off by at
/// most 1/65278 of the largest of its 32. With quantised weights, products of such rows are sums of
/// integers, as exact as products of f32 for most purposes and a few times as fast.
struct FixedPointRow {
  std::int8_t* high = nullptr;  ///< [width]
  std::int8_t* low = nullptr;   ///< [width]
  float* step = nullptr;        ///< [width / 32]
  float* sum = nullptr;         ///< [width / 16]: of the elements as they are stored here
};

inline constexpr int kBlockRows = 4;    ///< of w that go together
inline constexpr int kBlockInputs = 4;  ///< rows of x, at most, that share a reading of w

struct BlockWork {
  const float* x[kBlockInputs];          ///< rows, [columns]
  const FixedPointRow* fixed = nullptr;  ///< the same rows, where w is quantised
  const std::byte* w[kBlockRows];        ///< rows, [columns]
  std::int64_t columns = 0;
  float (*y)[kBlockRows] = nullptr;  ///< out: [rows of x]
};

using BlockKernel = void (*)(const BlockWork&);

/// By the number of rows of x, from one on.
struct BlockKernels {
  BlockKernel of[kBlockInputs];
};

/// One instruction set's.
struct BlockIsa {
  /// Fills `row` with the `width` elements of x, a multiple of 32. A group with a NaN or an
  /// infinity becomes NaN; one whose largest is below 4e-34, zero.
  void (*to_fixed_point)(const float* x, std::int64_t width, const FixedPointRow& row);
  const BlockKernels& (*kernels)(BlockFormat format);
};

const BlockIsa& block_isa_avx512();  ///< with BW, DQ, VL, VBMI and VNNI
const BlockIsa& block_isa_avx2();    ///< with FMA and F16C

}  // namespace headwise
