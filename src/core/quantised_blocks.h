#pragma once

// Stored weight formats, whole blocks at a time, and their way back to float.

#include <cstddef>
#include <cstdint>
#include <span>

namespace headwise {

enum class BlockFormat {
  f32,
  f16,
  q4_1,  ///< 32 weights in 20 bytes: f16 step d, f16 minimum m, 4-bit codes q; weight = d q + m
  q8_0,  ///< 32 weights in 34 bytes: f16 step d, signed 8-bit codes q; weight = d q
};

/// The name used in messages and by other tools, such as "Q4_1".
const char* name(BlockFormat format);

std::size_t block_elements(BlockFormat format);  ///< weights in a block: 1 or 32
std::size_t block_bytes(BlockFormat format);     ///< bytes of a stored block

/// Writes the weights of `blocks` to `out`. `blocks` needs no alignment. Throws Error unless
/// `out` holds a whole number of blocks and `blocks` exactly as many; nothing is written then.
void dequantise(BlockFormat format, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace headwise
