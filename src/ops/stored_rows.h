#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantised_blocks.h"

namespace headwise {

/// Rows of a weight matrix as a file stores them, one after another, each a whole number of blocks.
/// A view; the bytes need no alignment.
struct StoredRows {
  BlockFormat format = BlockFormat::f32;
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t row_bytes() const {
    return columns / static_cast<std::int64_t>(block_elements(format)) *
           static_cast<std::int64_t>(block_bytes(format));
  }
  const std::byte* row(std::int64_t index) const { return data + index * row_bytes(); }
};

}  // namespace headwise
