#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/backend.h"
#include "headwise/kv_cache.h"
#include "headwise/step_batch.h"

namespace headwise {

/// Numbers stored densely as a type that q, and new K and V, may have.
class StoredRows {
 public:
  StoredRows(DType type, const std::vector<float>& numbers,
             std::initializer_list<std::int64_t> sizes);
  StoredRows(const StoredRows&) = delete;
  StoredRows& operator=(const StoredRows&) = delete;

  TensorView view() const { return view_; }

 private:
  std::vector<std::byte> bytes_;
  TensorView view_;
};

struct AttentionAnswer {
  std::string row;             ///< that ran
  std::vector<std::byte> out;  ///< [tokens, q_heads, head_dim_v], of the shape's out_type()
  std::vector<float> lse;      ///< [tokens, q_heads]
};

/// Every backend of this build whose tensors lie on the CPU.
std::vector<const Backend*> cpu_backends();

/// What a backend answers to a step, whose out and lse are made here; nothing where it says that it
/// cannot.
std::optional<AttentionAnswer> attend(const Backend& backend, const AttentionShape& shape,
                                      StepBatch step, const KvView& kv, RunArgs args = {},
                                      const PlanOptions& options = {});

/// A layer's scales, as attention over it needs them.
RunArgs scales_of(const KvCache& cache, int group, int layer);

}  // namespace headwise
