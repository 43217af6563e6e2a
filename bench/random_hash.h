#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define HEADWISE_BOTH_SIDES __host__ __device__
#else
#define HEADWISE_BOTH_SIDES
#endif

namespace headwise::bench {

/// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
HEADWISE_BOTH_SIDES inline std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Element i of a tensor is the table's entry of 16 of these bits: those from 16 * (i % 4) on, of
/// block i / 4. `start` is splitmix(seed).
HEADWISE_BOTH_SIDES inline std::uint64_t random_bits(std::uint64_t start, std::int64_t block) {
  return splitmix(start + static_cast<std::uint64_t>(block));
}

/// Whether a tensor's row is one of its outliers, of which there is one in `every` rows. Inverted,
/// `start` makes other bits than the row's elements have.
HEADWISE_BOTH_SIDES inline bool is_outlier(std::uint64_t start, std::int64_t row,
                                           std::int64_t every) {
  return random_bits(~start, row) % static_cast<std::uint64_t>(every) == 0;
}

}  // namespace headwise::bench
