#pragma once

#include <cstdint>

namespace headwise::cuda {

/// What blocks of so many rows set aside at a cut (set_aside.cuh): of each row dim_v sums, and its
/// reference and sum of probabilities in each of four lanes.
inline std::int64_t aside_bytes(std::int64_t blocks, int rows, int dim_v) {
  constexpr int kStats = 8;  // floats
  return blocks * rows * (dim_v + kStats) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace headwise::cuda
