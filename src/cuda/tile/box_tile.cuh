#pragma once

#include <cstdint>

namespace headwise::cuda {

/// A tile of kRows rows in shared memory as copies of boxes with 128-byte swizzling leave it: the
/// first 128 bytes of all rows, then the next, whose 16-byte chunks change places by the row.
template <int kRows>
struct BoxTile {
  std::uint32_t base;  ///< in shared memory, a multiple of 1024

  __device__ __forceinline__ std::uint32_t chunk(int row, int index) const {
    return base + (index / 8 * kRows + row) * 128 + (((index ^ row) & 7) << 4);
  }

  /// From chunk(row, i) to chunk(row, i + chunks), where i and `chunks` have no bit in common.
  __device__ __forceinline__ static std::uint32_t advance(std::uint32_t address, int chunks) {
    return (address ^ ((chunks % 8) << 4)) + chunks / 8 * kRows * 128;
  }
};

}  // namespace headwise::cuda
