#pragma once

#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "headwise/tensor_view.h"

namespace headwise {

/// The heads of some tokens, f32 on the CPU, a token's densely packed.
struct Heads {
  float* data = nullptr;
  std::int64_t tokens = 0;
  std::int64_t count = 0;   ///< a token
  std::int64_t dim = 0;     ///< elements a head
  std::int64_t stride = 0;  ///< elements from one token to the next

  float* head(std::int64_t token, std::int64_t index) const {
    return data + token * stride + index * dim;
  }
};

/// [tokens, heads, head_dim] as heads. Throws Error(invalid_input), with `name`, where it is
/// anything else.
inline Heads heads_of(const MutableTensorView& x, std::string_view name) {
  const bool ok = x.rank == 3 && x.dtype == DType::f32 && x.device.type == DeviceType::cpu &&
                  x.strides[2] == 1 && x.strides[1] == x.sizes[2];
  if (!ok) check(false, name, " must be f32 heads on the cpu, is ", to_string(x));
  return {static_cast<float*>(x.data), x.sizes[0], x.sizes[1], x.sizes[2], x.strides[0]};
}

}  // namespace headwise
