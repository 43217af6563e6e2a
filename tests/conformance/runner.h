#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headwise/backend.h"
#include "tests/conformance/case.h"
#include "tests/conformance/placed_step.h"

namespace headwise::conformance {

struct Outputs {
  PoisonedTensor out;
  PoisonedTensor lse;
};
Outputs own_outputs(const Case& c);    ///< as the recipe wants them
Outputs exact_outputs(const Case& c);  ///< dense, f32, with LSE

/// A case planned on a backend, ready to run as often as wanted. The case and the outputs must
/// outlive it.
class PlannedRun {
 public:
  PlannedRun(const Backend& backend, const Case& c, Outputs& outputs);

  /// Poisons the workspace and the outputs and runs. Throws std::runtime_error where memory outside
  /// them was written, DeviceFault where the GPU failed.
  void operator()();
  Plan& plan() { return *plan_; }

 private:
  Outputs& outputs_;
  PlacedStep placed_;
  std::unique_ptr<KvBinding> binding_;
  std::unique_ptr<Plan> plan_;
  Workspace workspace_;
};

/// Plans, binds and runs once, for tests that change a case's step or views. `args` holds sinks and
/// scales.
void run_step(const Backend& backend, const AttentionShape& shape, const StepBatch& step,
              const KvView& kv, const RunArgs& args, const PlanOptions& options = {});

/// Plans and runs a case once.
void run(const Backend& backend, const Case& c, Outputs& outputs);

/// The double-precision answer of the backend `reference`.
Outputs reference_answer(const Case& c);

/// What the backend says to a case, whose tensors lie where the backend wants them.
Support explain(const Backend& backend, const Case& c);

/// What is wrong with an answer under the bounds, or nothing. LSE is judged where there is one.
std::string fault_in(const Case& c, const Outputs& exact, const Outputs& got);

/// "" or which bits differ.
std::string difference(const Outputs& a, const Outputs& b);

}  // namespace headwise::conformance
