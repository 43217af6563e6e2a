#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attention/key_runs.h"
#include "headwise/dtype.h"

namespace headwise {

/// One row of S on its way to P. Products of queries and keys come in; probabilities go out.
struct SoftmaxRow {
  float* s;      ///< [keys] products; overwritten
  std::byte* p;  ///< [keys] of p_type: probabilities, times v_scale, 0 where the row sees no key
  DType p_type;  ///< f32 or bf16
  std::int64_t keys;
  float scale;           ///< from product to logit
  float softcap;         ///< 0: none
  float sink;            ///< -inf: none
  const float* k_scale;  ///< [keys] of each product, or null
  const float* v_scale;  ///< [keys] of each probability, or null

  /// `spans` are the row's columns with their positions; returns the row's LSE.
  float run(std::span<const KeyRun> spans, const PositionRange& seen) const;
};

}  // namespace headwise
