#pragma once

#include <cstdint>

#include "core/number_formats.h"
#include "headwise/tensor_view.h"

namespace headwise {

/// An element of a tensor on the CPU, as it is stored: no scale is applied.
inline float stored_number(const TensorView& view, std::int64_t element) {
  switch (view.dtype) {
    case DType::f32:
      return static_cast<const float*>(view.data)[element];
    case DType::f16:
      return f16_to_float(static_cast<const std::uint16_t*>(view.data)[element]);
    case DType::bf16:
      return bf16_to_float(static_cast<const std::uint16_t*>(view.data)[element]);
    case DType::f8e4m3:
      return e4m3_to_float(static_cast<const std::uint8_t*>(view.data)[element]);
    case DType::i8:
      return static_cast<const std::int8_t*>(view.data)[element];
  }
  return 0.0F;
}

}  // namespace headwise
