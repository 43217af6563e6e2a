#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>

#include "headwise/dtype.h"

namespace headwise::cuda::sm90 {

/// A tensor of four dimensions in device memory, the innermost one without gaps, and the box of it
/// that a copy takes: 128 bytes of the innermost dimension, laid out in shared memory as
/// box_tile.cuh has it.
struct MappedTensor {
  const void* data = nullptr;  ///< at a multiple of 16
  DType dtype = DType::bf16;   ///< of one or two bytes
  std::array<std::int64_t, 4> sizes{};
  std::array<std::int64_t, 3> strides{};  ///< bytes, of dimensions 1 to 3; multiples of 16
  std::array<std::int32_t, 2> box{};      ///< of dimensions 1 and 2
};

/// Throws Error(not_possible) where the driver has no such maps or refuses this one.
CUtensorMap encode_map(const MappedTensor& tensor);

}  // namespace headwise::cuda::sm90
