#pragma once

#include <vector>

#include "bench/bench.h"

namespace headwise::bench {

/// A workload and what runs it.
struct Job {
  Workload workload;
  ShapeSpec shape;
  Choice choice;
  const Goal* goal = nullptr;  ///< that it is judged by; null: none
};

/// The step that a backend would be asked about, for its lengths.
Problem problem_of(const ShapeSpec& shape, const Workload& workload, Device device,
                   const PlanOptions& options);

/// All that `options` ask for. Logs each choice once. Throws Error where no backend can.
std::vector<Job> make_jobs(const BenchOptions& options, const Registry& registry,
                           const Machine& machine, int threads);

}  // namespace headwise::bench
