#pragma once

#include <string_view>
#include <vector>

#include "bench/bench.h"
#include "bench/claims.h"

namespace headwise::bench {

/// One of those that a claim compares.
struct Variant {
  std::string role;  ///< Row::role
  ShapeSpec shape;
  Workload workload;
  std::vector<Workload> parts;  ///< that run one after another; empty: all in one call
  int threads = 0;              ///< 0: the run's
  bool standard = false;        ///< run by the backend that writes S and P out
  std::string_view backend{};   ///< run by this one; empty: by that or the chosen one
};

/// What is to be measured.
struct Work {
  Workload workload;
  ShapeSpec shape;
  const Goal* goal = nullptr;       ///< that it is judged by; null: none
  std::optional<Topic> topic{};     ///< of a claim
  std::vector<Variant> variants{};  ///< of a claim: they run in alternating rounds
  bool planned = false;             ///< of a claim: they are planned, not run
};

/// Some work and what runs it.
struct Job : Work {
  Choice choice;
};

/// The step that a backend would be asked about, for its lengths.
Problem problem_of(const ShapeSpec& shape, const Workload& workload, Device device,
                   const PlanOptions& options);

/// All that `options` ask for. Logs each choice once. Throws Error where no backend can, and
/// Error(unknown_name) where `options.only` is found nowhere.
std::vector<Job> make_jobs(const BenchOptions& options, const Registry& registry,
                           const Machine& machine, int threads);

}  // namespace headwise::bench
