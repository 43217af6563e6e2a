#pragma once

#include <vector>

#include "advisor/advice/plan.h"
#include "advisor/advice/plan_candidates.h"

namespace headwise {

/// Plans beside one another: those that fit first, by TPOT, then those that do not, then what is
/// impossible.
struct PlanTable {
  std::vector<ParallelPlan> plans;
  std::int64_t left_out = 0;  ///< with experts both whole and split, worse than either alone

  /// Efficiency is throughput a device over that of the best plan of the fewest devices that hold
  /// the model and a request. 0: no number up to the question's does.
  std::int64_t reference_devices = 0;
  double reference_throughput = 0.0;  ///< a device; 0: not known
};

/// The least TPOT of those plans that hold the batch is best for latency, the most tokens a second
/// of those that fit is best for throughput; the other one decides between equals, then the name.
PlanTable search_plans(const PlanQuestion& question, const DeviceTimes& times);

/// Of these candidates, whose order does not matter.
PlanTable compare_plans(const PlanQuestion& question, const std::vector<PlanCandidate>& candidates,
                        const DeviceTimes& times);

}  // namespace headwise
