#include "cuda/step/kv_tensors.h"

#include <cstdint>

namespace headwise::cuda {
namespace {

/// A stride of a dimension of length 1 is multiplied by 0 alone, and may be anything.
std::int64_t stride(const TensorView& view, int dimension) {
  return view.sizes[dimension] > 1 ? view.strides[dimension] : 0;
}

KvTensor tensor_of(const TensorView& view, const TensorView& scale, KvLayout layout) {
  const bool paged = layout == KvLayout::paged;
  const int token = paged ? 2 : 0;
  const std::int64_t bytes = size_of(view.dtype);
  KvTensor tensor;
  tensor.data = static_cast<const char*>(view.data);
  tensor.page = paged ? stride(view, 0) * bytes : 0;
  tensor.head = stride(view, 1) * bytes;
  tensor.token = stride(view, token) * bytes;
  if (!scale) return tensor;
  tensor.scale = static_cast<const float*>(scale.data);
  tensor.scale_page = paged ? stride(scale, 0) : 0;
  tensor.scale_head = stride(scale, 1);
  tensor.scale_token = stride(scale, token);
  return tensor;
}

bool in_chunks(const KvTensor& tensor, std::int64_t row_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  return row_bytes % 16 == 0 && address % 16 == 0 && tensor.page % 16 == 0 &&
         tensor.head % 16 == 0 && tensor.token % 16 == 0;
}

}  // namespace

KvTensors::KvTensors(std::string_view backend, const AttentionShape& shape, KvLayout layout,
                     const KvView& view)
    : KvBinding(backend, layout, view),
      k_(tensor_of(view.k, view.k_scale, layout)),
      v_(shape.v_is_k_prefix ? k_ : tensor_of(view.v, view.v_scale, layout)),
      chunks_(in_chunks(k_, shape.head_dim_qk * size_of(shape.kv_type)) &&
              in_chunks(v_, shape.head_dim_v * size_of(shape.kv_type))) {}

}  // namespace headwise::cuda
