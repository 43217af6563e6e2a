#pragma once

#include <cstdint>

namespace headwise::cuda {

/// A tile in shared memory, row after row, whose 16-byte chunks change places within groups of
/// eight (of four where rows are odd multiples of 64 bytes), so that the same chunk of eight rows
/// lies in eight different groups of banks, as ldmatrix wants it.
template <int kRowBytes>
struct SharedTile {
  static_assert(kRowBytes % 64 == 0);
  static constexpr int kChunks = kRowBytes / 16;
  static constexpr int kGroup = kRowBytes % 128 == 0 ? 8 : 4;  ///< chunks that change places

  std::uint32_t base;  ///< in shared memory, a multiple of 128

  __device__ __forceinline__ std::uint32_t chunk(int row, int index) const {
    const int swizzle = kRowBytes % 128 == 0 ? row & 7 : (row >> 1) & 3;
    return base + row * kRowBytes + ((index ^ swizzle) << 4);
  }

  /// From chunk(row, i) to chunk(row, i + chunks), where i and `chunks` have no bit in common. One
  /// instruction, and no address for the compiler to keep in a register.
  __device__ __forceinline__ static std::uint32_t advance(std::uint32_t address, int chunks) {
    return (address ^ ((chunks % kGroup) << 4)) + (chunks / kGroup * kGroup << 4);
  }
};

/// `address`, about which the compiler knows nothing from here on: what follows from it is computed
/// where it is used, not kept in registers across a loop.
__device__ __forceinline__ std::uint32_t opaque(std::uint32_t address) {
  asm volatile("" : "+r"(address));
  return address;
}

}  // namespace headwise::cuda
