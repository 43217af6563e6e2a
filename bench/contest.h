#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/check.h"
#include "bench/entry.h"
#include "bench/job.h"

namespace headwise::bench {

/// What one call of bench has throughout.
struct BenchContext {
  const BenchOptions& options;
  const Registry& registry;
  const Machine& machine;
  const Backend& reference;
  int threads = 1;
  Gpu* gpu = nullptr;                       ///< that the tensors are on; null: they are on the CPU
  HardwareLimits limits;                    ///< by the probes
  Protocol protocol = Protocol::sustained;  ///< of the job under way
  double reference_flops_per_s = 0.0;       ///< by the last check; 0: none yet
  bool wrong = false;                       ///< somebody failed a check
};

/// What a backend is to run in one call.
struct Setup {
  const Backend& backend;
  ShapeSpec shape;
  Workload workload;
  std::vector<Workload> parts{};  ///< of the workload, to run one after another; empty: in one
  int threads = 0;                ///< 0: the run's
};

/// Those who run a job: makes their tensors, which live as long as this object, and checks what
/// each writes. One that cannot, or is wrong, has an entry with the reason in its note.
class Contest {
 public:
  Contest(const Job& job, BenchContext& context) : job_(job), context_(context) {}

  Entry enter(const Setup& setup);
  /// The same, but for its tensors: it says what it would run, and its workspace.
  Entry plan_only(const Setup& setup);
  /// An entry a peer, over the job's own shape. Empty where there are none.
  std::vector<Entry> enter(std::vector<Peer>& peers);

 private:
  std::string check(const Setup& setup, const Workload& step, StepTensors& tensors,
                    Candidate& candidate);
  void prepare(Peer& peer, StepTensors& tensors, SharedTensors& shared, Entry& entry);
  StepTensors& tensors_for(const AttentionShape& shape, const Workload& step, int page_size);
  const ExactRows& exact_rows(const AttentionShape& shape, const Workload& step,
                              StepTensors& tensors);
  Entry new_entry(const AttentionShape& shape, const Workload& workload, int threads) const;
  PlanOptions plan_options(const Setup& setup) const;
  std::int64_t copies_of(const AttentionShape& shape, const Workload& step, int page_size) const;

  const Job& job_;
  BenchContext& context_;
  std::map<std::string, std::unique_ptr<StepTensors>> tensors_;
  std::map<const StepTensors*, std::unique_ptr<ExactRows>> exact_;
};

}  // namespace headwise::bench
