#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/step_tensors.h"
#include "headwise/backend.h"

namespace headwise::bench {

/// A new token of a step.
struct SampledRow {
  std::int64_t request;
  std::int32_t row;  ///< within the request
};

/// Rows that a check looks at, in the order of the step, none twice: the first and the last one of
/// the request with most keys, one with an outlier where q has some, and others at random, as many
/// as `reference` does in about `flops` floating-point operations, 2 to 64. `seed` is the tensors',
/// of which the first copy is checked.
std::vector<SampledRow> sample_rows(const AttentionShape& shape, const Workload& workload,
                                    double flops, std::uint64_t seed);

/// What somebody made of a step, poisoned with NaN before it was written; on the CPU.
struct Outputs {
  const void* data = nullptr;  ///< [tokens, q_heads, head_dim_v]
  DType type = DType::f32;     ///< f32, f16 or bf16
  double bound = 0.0;          ///< the largest |out - exact| / |exact| over a request's rows
};

/// What a check found.
struct Verdict {
  std::string fault;   ///< empty: the outputs are right
  double error = 0.0;  ///< the largest of any request
};

/// Some rows of a step as `reference` makes them, on the CPU wherever the tensors are.
class ExactRows {
 public:
  /// Of `copy` of the tensors.
  ExactRows(const AttentionShape& shape, const Workload& workload, StepTensors& tensors, int copy,
            std::vector<SampledRow> rows, const Backend& reference, int threads);

  /// Judges `outputs`, which were made of the same tensors. An output that is NaN anywhere in the
  /// step is wrong, too.
  Verdict judge(const Outputs& outputs) const;

  double reference_flops_per_s() const { return flops_per_s_; }  ///< for estimates

 private:
  void compute(const Workload& workload, StepTensors& tensors, int copy, const Backend& reference,
               int threads);
  Verdict compare(const Outputs& outputs) const;

  AttentionShape shape_;
  std::vector<SampledRow> rows_;
  std::vector<std::int64_t> tokens_;  // of each row, within the step
  std::int64_t step_tokens_ = 0;
  Buffer exact_;  // f32 [rows, q_heads, head_dim_v]
  double flops_per_s_ = 0.0;
};

}  // namespace headwise::bench
