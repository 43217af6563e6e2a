#include "cuda/sm90/mapped_keys.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/check.h"
#include "cuda/runtime/check.h"

namespace headwise::cuda::sm90 {
namespace {

constexpr std::int64_t kMostTokens = 64;  // of a box; tiles are multiples of it

using Encode = decltype(&cuTensorMapEncodeTiled);

/// The driver's function, found when it is first needed: nothing links against the driver.
Encode encode() {
  static const Encode function = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check_call(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                                cudaEnableDefault, &found),
               "looking for cuTensorMapEncodeTiled");
    if (found != cudaDriverEntryPointSuccess)
      throw Error(ErrorCode::not_possible, "the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<Encode>(address);
  }();
  return function;
}

/// Of dimension, token, KV head, page; a box is 128 bytes of `box` tokens.
CUtensorMap map_of(const TensorView& view, const KvTensor& tensor, KvLayout layout, int dim,
                   int box) {
  const bool paged = layout == KvLayout::paged;
  const auto size = [&](int dimension) { return static_cast<cuuint64_t>(view.sizes[dimension]); };
  // Strides of dimensions of length 1 do not matter, but 0 is refused.
  const auto stride = [](std::int64_t bytes) {
    return static_cast<cuuint64_t>(std::max<std::int64_t>(bytes, 16));
  };
  const bool bytes = size_of(view.dtype) == 1;
  const cuuint64_t sizes[4] = {static_cast<cuuint64_t>(dim), size(paged ? 2 : 0), size(1),
                               paged ? size(0) : 1};
  const cuuint64_t strides[3] = {stride(tensor.token), stride(tensor.head), stride(tensor.page)};
  const cuuint32_t box_sizes[4] = {bytes ? 128U : 64U, static_cast<cuuint32_t>(box), 1, 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      encode()(&map, bytes ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16, 4,
               const_cast<char*>(tensor.data), sizes, strides, box_sizes, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error(ErrorCode::not_possible,
                concat("cuTensorMapEncodeTiled: error ", static_cast<int>(result)));
  return map;
}

}  // namespace

int box_tokens(std::int64_t page_size) {
  return static_cast<int>(std::gcd(page_size, kMostTokens));
}

MappedKeys::MappedKeys(std::string_view backend, const AttentionShape& shape, KvLayout layout,
                       const KvView& view)
    : KvTensors(backend, shape, layout, view) {
  const int tokens =
      layout == KvLayout::paged ? box_tokens(view.k.sizes[2]) : static_cast<int>(kMostTokens);
  if (!chunks() || tokens < 8 || view.k.sizes[0] == 0) return;
  maps_.k = map_of(view.k, k(), layout, shape.head_dim_qk, tokens);
  maps_.v = map_of(shape.v_is_k_prefix ? view.k : view.v, v(), layout, shape.head_dim_v, tokens);
  maps_.box_tokens = tokens;
}

}  // namespace headwise::cuda::sm90
