#include "cuda/sm90/encode_map.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "core/check.h"
#include "cuda/runtime/check.h"

namespace headwise::cuda::sm90 {
namespace {

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

}  // namespace

CUtensorMap encode_map(const MappedTensor& tensor) {
  const bool bytes = size_of(tensor.dtype) == 1;
  cuuint64_t sizes[4];
  std::copy(tensor.sizes.begin(), tensor.sizes.end(), sizes);
  // Strides of dimensions of length 1 do not matter, but 0 is refused.
  cuuint64_t strides[3];
  std::transform(tensor.strides.begin(), tensor.strides.end(), strides, [](std::int64_t stride) {
    return static_cast<cuuint64_t>(std::max<std::int64_t>(stride, 16));
  });
  const cuuint32_t box[4] = {bytes ? 128U : 64U, static_cast<cuuint32_t>(tensor.box[0]),
                             static_cast<cuuint32_t>(tensor.box[1]), 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      encode()(&map, bytes ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16, 4,
               const_cast<void*>(tensor.data), sizes, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error(ErrorCode::not_possible,
                concat("cuTensorMapEncodeTiled: error ", static_cast<int>(result)));
  return map;
}

}  // namespace headwise::cuda::sm90
