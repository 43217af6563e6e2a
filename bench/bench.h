#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/shape_spec.h"
#include "bench/claim_works.h"
#include "bench/goals.h"
#include "bench/peer.h"
#include "bench/probes.h"
#include "bench/row.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "headwise/registry.h"

namespace headwise::bench {

struct BenchOptions {
  std::vector<Suite> suites;
  ShapeSpec shape;
  std::string backend;  ///< forced; empty: the chosen one, with `standard` beside it
  Device device{};      ///< where the tensors are
  Gpu* gpu = nullptr;   ///< stands for `device` where that is a GPU; null: it is opened
  WorkloadOptions workload;
  int threads = 0;                   ///< 0: all that the process may run on
  bool batch_invariant = false;      ///< PlanOptions has it; peers are not told
  TimingOptions timing;              ///< its protocol is set by the next field
  std::optional<Protocol> protocol;  ///< absent: sustained, or graph for small calls on a GPU
  ProbeOptions probes;
  GpuProbeOptions gpu_probes;
  double check_flops = 4e9;        ///< floating-point operations spent on a check of one backend
  std::int64_t rotate_bytes = 0;   ///< copies of the tensors (on a GPU, of K and V) together; 0:
                                   ///< past the last cache level
  std::vector<PeerCommand> peers;  ///< to run beside
  double peer_timeout_s = 300.0;   ///< of one answer of a peer
  std::span<const Goal> goals;     ///< of Suite::goals; empty: those of this machine
  ClaimOptions claims;
  std::string only;  ///< a regular expression: goals and claims whose name has it; empty: all

  std::function<void(std::string_view)> progress = [](std::string_view) {};
  std::function<bool()> stop = [] { return false; };  ///< asked between calls
};

/// Whether the KV cache's bookkeeping is measured: Suite::cache, and with the goals of CPUs.
bool wants_cache(const BenchOptions& options);

/// Measures the device's limits, then each workload of each suite: every backend and peer is
/// checked against `reference` (which the registry must have) and timed where it is right. One that
/// cannot, or is wrong, has a row without a time and the reason in its note. Ends early, with the
/// rows so far, where stop() says so. Throws Error where the forced backend, or every backend,
/// cannot, and before anything is measured.
BenchReport run_bench(const BenchOptions& options, const Registry& registry,
                      const Machine& machine);

}  // namespace headwise::bench
