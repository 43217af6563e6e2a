#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantised_blocks.h"

namespace headwise {

/// A stored weight tensor, a view into the file that it came from, which must outlive it.
struct WeightTensor {
  std::string_view name;
  BlockFormat format = BlockFormat::f32;
  std::vector<std::uint64_t> sizes;  ///< 1 to 4, none 0, fastest first: a matrix is {columns, rows}
  std::span<const std::byte> data;   ///< rows one after another, each a whole number of blocks

  std::uint64_t columns() const { return sizes.front(); }
  std::uint64_t rows() const;      ///< product of all sizes but the first
  std::uint64_t elements() const;  ///< columns() * rows(); 4 times this fits in 63 bits

  /// `out`: [rows, columns], row-major. Throws Error naming the tensor if its size is another.
  void dequantise_to_f32(std::span<float> out) const;
  /// `out`: [columns]. Throws Error naming the tensor if `row` or the size is out of range.
  void dequantise_row(std::uint64_t row, std::span<float> out) const;
};

/// "tensor 'blk.0.attn_q.weight'", for messages.
std::string label(const WeightTensor& tensor);

}  // namespace headwise
