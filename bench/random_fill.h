#pragma once

#include <cstdint>

#include "bench/buffer.h"
#include "headwise/dtype.h"

namespace headwise::bench {

/// What tensors are filled with: 65,536 numbers of 1, 2 or 4 bytes, of which element i of a tensor
/// is one that a hash of its seed and i picks. So hosts and devices make the same tensor, or a part
/// of it, each on its own.
struct RandomTable {
  static constexpr std::int64_t kEntries = 1 << 16;
  const void* entries = nullptr;
  std::int64_t element = 0;  ///< bytes
};

/// The variance-1 normal distribution; i8 holds it times kInt8Units. Made once a type.
RandomTable normal_table(DType type);
/// The same numbers times kOutlierFactor, exactly. Of q's types: f32, f16, bf16, f8e4m3.
RandomTable outlier_table(DType type);
/// F32 scales of i8 tokens that give them variance 1, within a factor of 0.5 to 1.5.
RandomTable int8_scale_table();

/// Writes elements `first` ... first + count - 1 of the tensor with `seed`. Same seed, same
/// numbers, whatever the number of threads.
void fill_random(void* data, const RandomTable& table, std::int64_t first, std::int64_t count,
                 std::uint64_t seed);

/// Which rows of a tensor [rows, width] are outliers: of every `every` about one, by a hash of the
/// tensor's seed and the row.
struct OutlierRows {
  std::int64_t every = 0;  ///< 0: none
  std::int64_t rows = 0;
  std::int64_t width = 0;  ///< elements

  bool has(std::int64_t row, std::uint64_t seed) const;
};

/// Writes those rows of the tensor with `seed` alone, as fill_random() would.
void fill_outliers(void* data, const RandomTable& table, const OutlierRows& outliers,
                   std::uint64_t seed);

/// A tensor's first `count` elements, from normal_table(type).
void fill_normal(Buffer& buffer, DType type, std::int64_t count, std::uint64_t seed);

inline constexpr float kInt8Units = 32.0F;
inline constexpr float kOutlierFactor = 64.0F;

}  // namespace headwise::bench
