#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "headwise/device.h"
#include "headwise/dtype.h"

namespace headwise {

/// A strided view of memory that somebody else owns. The default one is absent (`!view`).
/// Offsets are 64-bit: tensors of more than 2^31 elements and 2^32 bytes are ordinary.
template <class Pointer>
struct BasicTensorView {
  static constexpr int kMaxRank = 4;

  Pointer data = nullptr;
  DType dtype = DType::f32;
  Device device{};
  int rank = 0;                                  ///< 0: absent
  std::array<std::int64_t, kMaxRank> sizes{};    ///< elements along each dimension, outermost first
  std::array<std::int64_t, kMaxRank> strides{};  ///< elements from one index to the next

  explicit operator bool() const { return rank > 0; }

  /// A view to write is a view to read.
  operator BasicTensorView<const void*>() const requires std::same_as<Pointer, void*> {
    return {.data = data,
            .dtype = dtype,
            .device = device,
            .rank = rank,
            .sizes = sizes,
            .strides = strides};
  }
};

using TensorView = BasicTensorView<const void*>;
using MutableTensorView = BasicTensorView<void*>;

/// A view of densely packed memory, last dimension fastest.
TensorView dense(const void* data, DType dtype, std::initializer_list<std::int64_t> sizes,
                 Device device = {});
MutableTensorView dense(void* data, DType dtype, std::initializer_list<std::int64_t> sizes,
                        Device device = {});

/// "bf16[6, 8, 128] strides [1024, 128, 1] on cpu".
std::string to_string(const TensorView& view);

}  // namespace headwise
