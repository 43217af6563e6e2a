#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/step_tensors.h"
#include "headwise/backend.h"

namespace headwise::bench {

/// A backend, planned and bound over a step's tensors, ready to be called again and again. On a GPU
/// calls are launches in its stream.
class Candidate {
 public:
  /// `tensors` must outlive it. Throws Error: what the backend cannot, or a workspace that does not
  /// fit into the free memory (not_possible, with the bytes).
  Candidate(const Backend& backend, const AttentionShape& shape, StepTensors& tensors,
            const PlanOptions& options);

  const Plan& plan() const { return *plan_; }
  int copies() const { return static_cast<int>(args_.size()); }

  /// Runs the step over the next copy of the tensors.
  void run_next();
  /// Poisons out of `copy`, and the workspace, and runs; waits for the result.
  void run_poisoned(int copy);
  /// Plan::repeated_rows() of a call, on average over the copies, each of which it runs. Absent:
  /// the plan does not count.
  std::optional<double> repeated_rows();

 private:
  StepTensors& tensors_;
  std::unique_ptr<Plan> plan_;
  std::vector<std::unique_ptr<KvBinding>> bindings_;  // [copies]
  std::vector<RunArgs> args_;                         // [copies]
  TensorMemory workspace_;
  std::size_t next_ = 0;
};

}  // namespace headwise::bench
