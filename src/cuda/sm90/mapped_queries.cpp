#include "cuda/sm90/mapped_queries.h"

#include <cstdint>
#include <limits>

#include "cuda/sm90/encode_map.h"

namespace headwise::cuda::sm90 {

void MappedQueries::add_to(TensorMaps& maps, const StepArgs& step, int q_heads, DType dtype) {
  const int group = static_cast<int>(step.group.divisor);
  constexpr int kMostOfBox = 256;  // along a dimension
  maps.query_tokens = 0;
  if (rows_ == 0 || !step.q_chunks || rows_ % group != 0 || rows_ / group > kMostOfBox) return;
  if (step.q != data_ || step.q_strides.token != strides_.token ||
      step.q_strides.head != strides_.head) {
    // Of how many tokens q has kernels see to that: an item's rows are all there.
    map_ = encode_map({.data = step.q,
                       .dtype = dtype,
                       .sizes = {step.dim_qk, q_heads, std::numeric_limits<std::int32_t>::max(), 1},
                       .strides = {step.q_strides.head * 2, step.q_strides.token * 2, 0},
                       .box = {group, rows_ / group}});
    data_ = step.q;
    strides_ = step.q_strides;
  }
  maps.q = map_;
  maps.query_tokens = rows_ / group;
}

}  // namespace headwise::cuda::sm90
