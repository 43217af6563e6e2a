#pragma once

#include <memory>

#include "headwise/backend.h"

namespace headwise {

inline constexpr std::string_view kStandardName = "standard";

/// Where the matrices of one request lie in the workspace: offsets in bytes. One set serves all
/// requests. Keys are padded to whole blocks, so that a growing context does not compile a new
/// product each step.
struct StandardWorkspace {
  static constexpr std::int64_t kKeyBlock = 64;

  std::int64_t q = 0;        ///< [kv_heads, q_len * group, head_dim_qk] products' type
  std::int64_t k = 0;        ///< [kv_heads, keys, head_dim_qk] products' type
  std::int64_t v = 0;        ///< [kv_heads, keys, head_dim_v] products' type
  std::int64_t k_scale = 0;  ///< [kv_heads, keys] f32
  std::int64_t v_scale = 0;  ///< [kv_heads, keys] f32
  std::int64_t s = 0;        ///< [kv_heads, q_len * group, keys] f32
  std::int64_t p = 0;        ///< [kv_heads, q_len * group, keys] products' type
  std::int64_t o = 0;        ///< [kv_heads, q_len * group, head_dim_v] f32
  std::int64_t bytes = 0;

  StandardWorkspace(const AttentionShape& shape, DType type, const Capacity& capacity);
};

/// `type` is the products': f32 or bf16.
std::unique_ptr<Plan> make_standard_plan(const Problem& problem, const Support& support,
                                         DType type);

}  // namespace headwise
