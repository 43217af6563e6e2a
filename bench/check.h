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
/// the request with most keys, and others at random, as many as `reference` does in about
/// `flops` floating-point operations, 2 to 64.
std::vector<SampledRow> sample_rows(const AttentionShape& shape, const Workload& workload,
                                    double flops, std::uint64_t seed);

struct CheckResult {
  std::string failure;               ///< empty: the rows are right
  double reference_flops_per_s = 0;  ///< that computing the rows ran at, for estimates

  explicit operator bool() const { return failure.empty(); }
};

/// Compares `rows` of out of `copy`, poisoned before it was written, with what `reference` makes of
/// the same tensors. Every output that is NaN anywhere in the step is a failure too.
CheckResult check_rows(const AttentionShape& shape, const Workload& workload, StepTensors& tensors,
                       int copy, const std::vector<SampledRow>& rows, const Backend& reference,
                       int threads);

}  // namespace headwise::bench
