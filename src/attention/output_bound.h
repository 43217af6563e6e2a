#pragma once

#include <algorithm>

#include "headwise/attention_shape.h"

namespace headwise {

/// The largest |out - exact| / |exact| over a request that the definition allows, against double
/// precision on the stored inputs: f32 5e-6, f16 6e-4, bf16 and 8-bit KV 5e-3, FP8 products 4e-2;
/// of q's and KV's the looser one.
inline double output_bound(const AttentionShape& shape) {
  const auto of_type = [](DType type) {
    return type == DType::f32 ? 5e-6 : type == DType::f16 ? 6e-4 : 5e-3;
  };
  if (shape.q_type == DType::f8e4m3) return 4e-2;
  return std::max(of_type(shape.q_type), of_type(shape.kv_type));
}

}  // namespace headwise
