#pragma once

#include <cstdint>
#include <string_view>

namespace headwise {

/// Element types. f8e4m3 is OCP FP8 E4M3 "finite": no infinity, 0x7f and 0xff are NaN, largest
/// value 448.
enum class DType : std::uint8_t { f32, f16, bf16, f8e4m3, i8 };

/// Bytes an element.
constexpr std::int64_t size_of(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::f8e4m3:
    case DType::i8:
      return 1;
  }
  return 0;
}

/// "f32", "f16", "bf16", "f8e4m3", "i8".
std::string_view name_of(DType type);

/// The inverse of name_of. Throws Error(unknown_name) that lists the names.
DType parse_dtype(std::string_view name);

constexpr bool is_8_bit(DType type) { return size_of(type) == 1; }

}  // namespace headwise
