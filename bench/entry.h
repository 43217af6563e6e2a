#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/candidate.h"
#include "bench/goals.h"
#include "bench/peer.h"
#include "bench/row.h"
#include "bench/timing.h"

namespace headwise::bench {

/// A line of the report in the making: who runs what, and what was measured of it. Neither parts
/// nor peer: not to be timed.
struct Entry {
  Row row;
  AttentionShape shape;
  AttentionWork work;
  std::vector<std::unique_ptr<Candidate>> parts;  ///< of a backend, run one after another
  Peer* peer = nullptr;                           ///< that holds the step
  bool failed = false;                            ///< while it was timed: its note says how
  Timing timing;
  Samples mhz;                          ///< a GPU's clock, behind each turn
  std::optional<double> repeated_rows;  ///< by Plan::repeated_rows(), a call; where q has outliers
  std::optional<double> time_ratio;     ///< to what it is paired with in its job

  bool timed() const { return !timing.samples.empty(); }
  double seconds() const { return median(timing.samples); }
};

/// The entries of one workload, the backend that it is about first.
struct Entries {
  std::vector<Entry> list;
  const Goal* goal = nullptr;
  std::size_t judged = 0;  ///< whose goal it is
};

/// Fills in the report's rows: times, rates, fractions of the best that any probe or peer of the
/// whole run reached, speeds beside the fastest peer, and goals.
void fill_rows(std::vector<Entries>& all, BenchReport& report);

}  // namespace headwise::bench
