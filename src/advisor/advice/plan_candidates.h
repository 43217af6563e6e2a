#pragma once

#include <string>
#include <vector>

#include "advisor/time/deployment.h"

namespace headwise {

/// A way of spreading a model, or why there is none.
struct PlanCandidate {
  Deployment deployment;
  std::string why_impossible;  ///< one sentence; empty: possible
};

/// All ways that divisors of `devices` allow: stages; in each of them heads (tp), context (kvp;
/// only while heads are not duplicated, as Helix has it) and requests (adp) of attention; experts
/// whole (ep) or by width; dense layers over an attention group, or over the stage. Where no
/// feed-forward goes with a way of splitting attention, one candidate says why.
std::vector<PlanCandidate> plan_candidates(const ModelDescription& model, const Deployment& types,
                                           std::int64_t devices);

/// why_impossible, what Helix asks for, and experts that are split too thin.
std::string why_not_plan(const ModelDescription& model, const Deployment& plan);

/// usual_plan, or, where that is impossible, what comes next to it: as few stages, as few groups
/// for requests of their own and experts as whole as possible. Throws Error with the usual plan's
/// fault if there is none.
Deployment possible_plan(const ModelDescription& model, const Deployment& types,
                         std::int64_t devices);

}  // namespace headwise
