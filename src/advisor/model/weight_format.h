#pragma once

#include <cstdint>
#include <string_view>

namespace headwise {

/// How weights are stored and multiplied: activations take the same type.
enum class WeightFormat : std::uint8_t {
  bf16,
  fp8,        ///< a scale a matrix
  fp8_block,  ///< an f32 scale for each 128 x 128 weights: DeepSeek-V3
  nvfp4,      ///< four bits, and an fp8 scale for each 16 weights
};

std::string_view name_of(WeightFormat format);  ///< as above

/// Throws Error(unknown_name) that lists the names.
WeightFormat parse_weight_format(std::string_view name);

/// A weight's, its part of the scales included.
double bytes_per_weight(WeightFormat format);

}  // namespace headwise
