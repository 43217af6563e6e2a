#pragma once

#include <cstdint>

#include "core/number_formats.h"
#include "headwise/dtype.h"

namespace headwise {

/// Reads `count` stored numbers from element `offset` of `data` on, times `scale`.
template <class Number>
void load_row(const void* data, DType dtype, std::int64_t offset, int count, Number scale,
              Number* row) {
  const auto read = [&]<class Stored>(const Stored* stored, auto decode) {
    for (int i = 0; i < count; ++i)
      row[i] = static_cast<Number>(decode(stored[offset + i])) * scale;
  };
  switch (dtype) {
    case DType::f32:
      return read(static_cast<const float*>(data), [](float x) { return x; });
    case DType::f16:
      return read(static_cast<const std::uint16_t*>(data), f16_to_float);
    case DType::bf16:
      return read(static_cast<const std::uint16_t*>(data), bf16_to_float);
    case DType::f8e4m3:
      return read(static_cast<const std::uint8_t*>(data), e4m3_to_float);
    case DType::i8:
      return read(static_cast<const std::int8_t*>(data),
                  [](std::int8_t x) { return static_cast<float>(x); });
  }
}

}  // namespace headwise
