#pragma once

// Stored weight formats, whole blocks at a time, and their way back to float. The layouts are
// those of GGUF files, as ggml defines them (ggml-common.h, ggml-quants.c).

#include <cstddef>
#include <cstdint>
#include <span>

namespace headwise {

/// d: step, m: minimum, both f16; q: a weight's code; s, t: codes of a group of weights.
enum class BlockFormat : std::uint8_t {
  f32,
  f16,
  bf16,
  q4_0,  ///< 32 weights in 18 bytes: d (q - 8), q of 4 bits
  q4_1,  ///< 32 weights in 20 bytes: d q + m, q of 4 bits
  q5_0,  ///< 32 weights in 22 bytes: d (q - 16), q of 5 bits
  q5_1,  ///< 32 weights in 24 bytes: d q + m, q of 5 bits
  q8_0,  ///< 32 weights in 34 bytes: d q, q of 8 bits, signed
  q4_k,  ///< 256 weights in 144 bytes: d s q - m t, q of 4 bits, s and t of 6 bits for 32 weights
  q5_k,  ///< 256 weights in 176 bytes: d s q - m t, q of 5 bits, s and t of 6 bits for 32 weights
  q6_k,  ///< 256 weights in 210 bytes: d s (q - 32), q of 6 bits, s of 8, signed, for 16 weights
};

/// The name used in messages and by other tools, such as "Q4_1".
const char* name(BlockFormat format);

std::size_t block_elements(BlockFormat format);  ///< weights in a block: 1, 32 or 256
std::size_t block_bytes(BlockFormat format);     ///< bytes of a stored block

/// Writes the weights of `blocks` to `out`. `blocks` needs no alignment. Throws Error unless
/// `out` holds a whole number of blocks and `blocks` exactly as many; nothing is written then.
void dequantise(BlockFormat format, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace headwise
