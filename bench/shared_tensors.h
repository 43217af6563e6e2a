#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "bench/step_tensors.h"

namespace headwise::bench {

/// A step as peers are handed it: one copy of its tensors in a file in memory. q is [tokens,
/// q_heads, head_dim_qk]; K and V lie request after request, each [kv_heads, kv_len, head_dim]; all
/// of q's type, whatever KV's. Behind them is room for the outputs, F32 [tokens, q_heads,
/// head_dim_v].
class SharedTensors {
 public:
  /// Takes the first copy of `tensors`, wherever they are. Throws Error(not_possible): what no peer
  /// can, or memory that is not free.
  SharedTensors(const AttentionShape& shape, const Workload& workload, StepTensors& tensors);
  ~SharedTensors();
  SharedTensors(const SharedTensors&) = delete;
  SharedTensors& operator=(const SharedTensors&) = delete;

  /// The shape, the lengths, and where the tensors are, as a request to prepare has them.
  const nlohmann::json& request() const { return *request_; }

  void poison();  ///< fills the outputs with NaN
  const float* out() const { return reinterpret_cast<const float*>(memory_ + out_start_); }

 private:
  void take(const AttentionShape& shape, const Workload& workload, StepTensors& tensors,
            std::int64_t k_start, std::int64_t v_start);
  /// K or V of a request's slots, out of their pages.
  void gather(const AttentionShape& shape, const Workload& workload, StepTensors& tensors,
              bool keys, std::byte* to);
  void describe(const AttentionShape& shape, const Workload& workload, const StepTensors& tensors,
                std::int64_t k_start, std::int64_t v_start);

  int file_ = -1;
  std::byte* memory_ = nullptr;
  std::int64_t size_ = 0;       // bytes
  std::int64_t out_start_ = 0;  // bytes
  std::unique_ptr<nlohmann::json> request_;
};

}  // namespace headwise::bench
