#pragma once

#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "headwise/tensor_view.h"

namespace headwise {

/// A matrix of floats on the CPU, each row dense.
template <class Float>
struct Rows {
  Float* data = nullptr;
  std::int64_t count = 0;   ///< rows
  std::int64_t width = 0;   ///< elements a row
  std::int64_t stride = 0;  ///< elements from one row to the next

  Float* operator[](std::int64_t row) const { return data + row * stride; }
};

namespace detail {

inline void check_rows(const TensorView& view, std::string_view name) {
  const bool ok = view.rank == 2 && view.dtype == DType::f32 &&
                  view.device.type == DeviceType::cpu && view.strides[1] == 1 &&
                  view.strides[0] >= view.sizes[1];
  // The view's text is made only where it is needed: this runs for every operand of every layer.
  if (!ok)
    check(false, name, " must be a matrix of f32 on the cpu with dense rows, is ", to_string(view));
}

}  // namespace detail

/// The view as rows. Throws Error(invalid_input), with `name`, where it is anything else.
inline Rows<const float> rows_of(const TensorView& view, std::string_view name) {
  detail::check_rows(view, name);
  return {static_cast<const float*>(view.data), view.sizes[0], view.sizes[1], view.strides[0]};
}

inline Rows<float> rows_of(const MutableTensorView& view, std::string_view name) {
  detail::check_rows(view, name);
  return {static_cast<float*>(view.data), view.sizes[0], view.sizes[1], view.strides[0]};
}

}  // namespace headwise
