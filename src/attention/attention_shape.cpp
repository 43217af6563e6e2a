#include "headwise/attention_shape.h"

#include <cmath>

#include "core/check.h"

namespace headwise {

float AttentionShape::logit_scale() const {
  return scale ? *scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim_qk)));
}

void validate(const AttentionShape& shape) {
  check(shape.q_heads > 0, "q_heads is ", shape.q_heads, "; it must be positive");
  check(shape.kv_heads > 0, "kv_heads is ", shape.kv_heads, "; it must be positive");
  check(shape.q_heads % shape.kv_heads == 0, "q_heads ", shape.q_heads,
        " is not a multiple of kv_heads ", shape.kv_heads);
  check(shape.head_dim_qk > 0, "head_dim_qk is ", shape.head_dim_qk, "; it must be positive");
  check(shape.head_dim_v > 0, "head_dim_v is ", shape.head_dim_v, "; it must be positive");
  check(!shape.v_is_k_prefix || shape.head_dim_v <= shape.head_dim_qk, "head_dim_v ",
        shape.head_dim_v, " is longer than head_dim_qk ", shape.head_dim_qk,
        ", of which it is a prefix (v_is_k_prefix)");
  check(shape.q_type != DType::i8, "q_type is i8; q is f32, f16, bf16 or f8e4m3");
  check(!shape.scale || std::isfinite(*shape.scale), "scale is ", shape.scale.value_or(0.0F),
        "; it must be finite");
  check(shape.window_left >= -1, "window_left is ", shape.window_left, "; -1 is unlimited");
  check(shape.window_right >= -1, "window_right is ", shape.window_right, "; -1 is unlimited");
  check(std::isfinite(shape.softcap) && shape.softcap >= 0.0F, "softcap is ", shape.softcap,
        "; it must be finite and not negative");
}

}  // namespace headwise
