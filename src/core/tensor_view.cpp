#include "headwise/tensor_view.h"

#include "core/check.h"

namespace headwise {
namespace {

template <class Pointer>
BasicTensorView<Pointer> dense_view(Pointer data, DType dtype,
                                    std::initializer_list<std::int64_t> sizes, Device device) {
  BasicTensorView<Pointer> view{.data = data, .dtype = dtype, .device = device};
  check(sizes.size() <= BasicTensorView<Pointer>::kMaxRank, "a view of ", sizes.size(),
        " dimensions; 4 are the most");
  for (const std::int64_t size : sizes) view.sizes[view.rank++] = size;
  std::int64_t stride = 1;
  for (int i = view.rank - 1; i >= 0; --i) {
    view.strides[i] = stride;
    stride *= view.sizes[i];
  }
  return view;
}

std::string list(const std::array<std::int64_t, TensorView::kMaxRank>& values, int rank) {
  std::string text = "[";
  for (int i = 0; i < rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

}  // namespace

std::string to_string(const Device& device) {
  return device.type == DeviceType::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

TensorView dense(const void* data, DType dtype, std::initializer_list<std::int64_t> sizes,
                 Device device) {
  return dense_view(data, dtype, sizes, device);
}

MutableTensorView dense(void* data, DType dtype, std::initializer_list<std::int64_t> sizes,
                        Device device) {
  return dense_view(data, dtype, sizes, device);
}

std::string to_string(const TensorView& view) {
  if (!view) return "absent";
  return concat(name_of(view.dtype), list(view.sizes, view.rank), " strides ",
                list(view.strides, view.rank), " on ", to_string(view.device));
}

}  // namespace headwise
