#include "headwise/dtype.h"

#include <array>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"f32", "f16", "bf16", "f8e4m3", "i8"};

}  // namespace

std::string_view name_of(DType type) { return kNames[static_cast<std::size_t>(type)]; }

DType parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<DType>(i);
  throw Error(ErrorCode::unknown_name,
              concat("type '", name, "' is unknown; there are f32, f16, bf16, f8e4m3 and i8"));
}

}  // namespace headwise
