#pragma once

#include <string>

#include "advisor/advice/plan.h"

namespace headwise {

/// One sentence of the plan's numbers beside those of the best for latency and the best for
/// throughput, either of which may be absent: what its steps take more, or holds its batch down.
std::string why_it_loses(const PlanQuestion& question, const ParallelPlan& plan,
                         const ParallelPlan* latency, const ParallelPlan* throughput);

/// "does not fit by 4.5 GiB a GPU: weights 131.4, a request of 128k 40.0, room 126.9".
std::string why_it_does_not_fit(const PlanQuestion& question, const ParallelPlan& plan);

}  // namespace headwise
