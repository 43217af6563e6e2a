#pragma once

#include <memory>
#include <vector>

#include "bench/step_tensors.h"
#include "headwise/backend.h"

namespace headwise::bench {

/// A backend, planned and bound over a step's tensors, ready to be called again and again.
class Candidate {
 public:
  /// `tensors` must outlive it. Throws Error: what the backend cannot, or a workspace that does not
  /// fit into the free memory (not_possible, with the bytes).
  Candidate(const Backend& backend, const AttentionShape& shape, StepTensors& tensors,
            const PlanOptions& options);

  const Plan& plan() const { return *plan_; }

  /// Runs the step over the next copy of the tensors.
  void run_next();
  /// Poisons out of `copy`, and the workspace, and runs.
  void run_poisoned(int copy);

 private:
  StepTensors& tensors_;
  std::unique_ptr<Plan> plan_;
  std::vector<std::unique_ptr<KvBinding>> bindings_;  // [copies]
  std::vector<RunArgs> args_;                         // [copies]
  Buffer workspace_;
  std::size_t next_ = 0;
};

}  // namespace headwise::bench
