#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/number_formats.h"
#include "ops/stored_rows.h"

namespace headwise {

/// Stored rows of random blocks with finite numbers, and the same in f32.
struct StoredMatrix {
  StoredRows rows;
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

/// Where the f16 numbers of a block lie.
inline std::vector<std::size_t> halves_of(BlockFormat format) {
  switch (format) {
    case BlockFormat::q4_0:
    case BlockFormat::q5_0:
    case BlockFormat::q8_0:
      return {0};
    case BlockFormat::q4_1:
    case BlockFormat::q5_1:
    case BlockFormat::q4_k:
    case BlockFormat::q5_k:
      return {0, 2};
    case BlockFormat::q6_k:
      return {208};
    default:
      return {};
  }
}

inline void write_number(std::byte* at, BlockFormat format, float number) {
  if (format == BlockFormat::f32) std::memcpy(at, &number, 4);
  const std::uint16_t half =
      format == BlockFormat::bf16 ? float_to_bf16(number) : float_to_f16(number);
  if (format != BlockFormat::f32) std::memcpy(at, &half, 2);
}

inline StoredMatrix random_matrix(BlockFormat format, std::int64_t rows, std::int64_t columns,
                                  unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, 0.1F);
  StoredMatrix matrix{.rows = {format, nullptr, rows, columns}};
  matrix.bytes.resize(static_cast<std::size_t>(rows * matrix.rows.row_bytes()));
  for (std::byte& byte : matrix.bytes) byte = static_cast<std::byte>(generator());
  const std::size_t block = block_bytes(format);
  for (std::size_t at = 0; at < matrix.bytes.size(); at += block) {
    if (block_elements(format) == 1) write_number(&matrix.bytes[at], format, normal(generator));
    for (const std::size_t half : halves_of(format))
      write_number(&matrix.bytes[at + half], format, normal(generator));
  }
  matrix.rows.data = matrix.bytes.data();
  matrix.values.resize(static_cast<std::size_t>(rows * columns));
  dequantise(format, matrix.bytes, matrix.values);
  return matrix;
}

inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

}  // namespace headwise
