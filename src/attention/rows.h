#pragma once

#include <cstdint>
#include <vector>

#include "attention/key_runs.h"
#include "core/number_formats.h"

namespace headwise {

/// The requests of a plan's step, in order.
inline std::vector<Request> requests_of(const StepBatch& step) {
  std::vector<Request> requests;
  requests.reserve(step.q_lens.size());
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < step.requests(); ++r) {
    requests.push_back({r, row, step.q_lens[r], step.kv_lens[r], step.q_start[r]});
    row += step.q_lens[r];
  }
  return requests;
}

/// Writes `count` numbers as `dtype` (f32, f16 or bf16) from element `offset` of `data` on.
template <class Number>
void store_row(const Number* values, int count, void* data, DType dtype, std::int64_t offset) {
  if (dtype == DType::f32) {
    auto* out = static_cast<float*>(data) + offset;
    for (int i = 0; i < count; ++i) out[i] = static_cast<float>(values[i]);
    return;
  }
  auto* out = static_cast<std::uint16_t*>(data) + offset;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<float>(values[i]);
    out[i] = dtype == DType::bf16 ? float_to_bf16(value) : float_to_f16(value);
  }
}

/// Writes an LSE, if the step has them, to `other` where a run brings its own buffer.
inline void store_lse(const StepBatch& step, float* other, std::int64_t token, std::int64_t head,
                      double value) {
  if (!step.lse) return;
  float* values = other != nullptr ? other : static_cast<float*>(step.lse.data);
  values[token * step.lse.strides[0] + head * step.lse.strides[1]] = static_cast<float>(value);
}

/// The scale of `head` among an argument's f8e4m3 scales; 1 for other types or where none is given.
inline float fp8_scale(const float* scales, DType dtype, ScaleGranularity granularity, int head) {
  if (dtype != DType::f8e4m3 || scales == nullptr) return 1.0F;
  return scales[granularity == ScaleGranularity::kv_head ? head : 0];
}

}  // namespace headwise
