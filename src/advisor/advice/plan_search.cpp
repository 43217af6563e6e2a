#include "advisor/advice/plan_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "advisor/advice/plan_reasons.h"

namespace headwise {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double tpot(const PlanQuestion& question, const ParallelPlan& plan) {
  const Estimate step = plan.next.total();
  return plan.holds(question.batch) && step ? step.seconds : kNever;
}

double throughput(const ParallelPlan& plan) { return plan.throughput.value_or(0.0); }

/// A plan without experts split in both ways, or without experts at all.
bool is_pure(const ParallelPlan& plan) {
  return plan.deployment.ep == 1 || plan.deployment.experts_tp() == 1;
}

/// Drops plans whose experts are split in both ways unless that is better than either way alone.
std::int64_t drop_worse_mixtures(const PlanQuestion& question, std::vector<ParallelPlan>& plans) {
  struct Best {
    double tpot = kNever, throughput = 0.0;
  };
  const auto attention = [](const ParallelPlan& plan) {
    const Deployment& widths = plan.deployment;
    return std::tuple(widths.pp, widths.tp, widths.adp, widths.kvp);
  };
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, Best> pure;
  for (const ParallelPlan& plan : plans)
    if (plan.is_possible() && is_pure(plan)) {
      Best& best = pure[attention(plan)];
      best.tpot = std::min(best.tpot, tpot(question, plan));
      best.throughput = std::max(best.throughput, throughput(plan));
    }
  return static_cast<std::int64_t>(std::erase_if(plans, [&](const ParallelPlan& plan) {
    if (!plan.is_possible() || is_pure(plan)) return false;
    const Best& best = pure[attention(plan)];
    return tpot(question, plan) >= best.tpot && throughput(plan) <= best.throughput;
  }));
}

void sort_plans(const PlanQuestion& question, std::vector<ParallelPlan>& plans) {
  std::ranges::sort(plans, {}, [&](const ParallelPlan& plan) {
    return std::tuple(!plan.is_possible(), !plan.fits(), tpot(question, plan), -throughput(plan),
                      plan.missing_bytes, plan.name);
  });
}

void name_best(const PlanQuestion& question, std::vector<ParallelPlan>& plans) {
  const auto latency = std::ranges::min_element(plans, {}, [&](const ParallelPlan& plan) {
    return std::tuple(tpot(question, plan), -throughput(plan), plan.name);
  });
  const auto most = std::ranges::min_element(plans, {}, [&](const ParallelPlan& plan) {
    return std::tuple(-throughput(plan), tpot(question, plan), plan.name);
  });
  latency->best_latency = tpot(question, *latency) < kNever;
  most->best_throughput = throughput(*most) > 0.0;
  for (ParallelPlan& plan : plans)
    if (plan.fits() && !plan.best_latency && !plan.best_throughput)
      plan.loses_because = why_it_loses(question, plan, latency->best_latency ? &*latency : nullptr,
                                        most->best_throughput ? &*most : nullptr);
}

double best_throughput(const std::vector<ParallelPlan>& plans) {
  double best = 0.0;
  for (const ParallelPlan& plan : plans) best = std::max(best, throughput(plan));
  return best;
}

bool any_fits(const PlanQuestion& question, const Hardware& hardware,
              const std::vector<PlanCandidate>& candidates) {
  return std::ranges::any_of(candidates, [&](const PlanCandidate& candidate) {
    return candidate.why_impossible.empty() &&
           largest_batch(question.model, candidate.deployment, hardware, question.context,
                         question.memory)
                   .requests > 0;
  });
}

std::vector<ParallelPlan> evaluated(const PlanQuestion& question,
                                    const std::vector<PlanCandidate>& candidates,
                                    const DeviceTimes& times) {
  std::vector<ParallelPlan> plans;
  for (const PlanCandidate& candidate : candidates)
    plans.push_back(evaluate_plan(question, candidate.deployment, times));
  return plans;
}

void add_efficiency(const PlanQuestion& question, const DeviceTimes& times, PlanTable& table) {
  for (std::int64_t devices = 1; devices <= question.devices; ++devices) {
    const auto candidates = plan_candidates(question.model, question.types, devices);
    if (!any_fits(question, times.hardware(), candidates)) continue;
    table.reference_devices = devices;
    table.reference_throughput =
        best_throughput(evaluated(question, candidates, times)) / static_cast<double>(devices);
    break;
  }
  if (table.reference_throughput == 0.0) return;
  for (ParallelPlan& plan : table.plans)
    if (plan.throughput)
      plan.efficiency =
          *plan.throughput / static_cast<double>(question.devices) / table.reference_throughput;
}

}  // namespace

PlanTable compare_plans(const PlanQuestion& question, const std::vector<PlanCandidate>& candidates,
                        const DeviceTimes& times) {
  PlanTable table;
  table.plans = evaluated(question, candidates, times);
  if (table.plans.empty()) return table;
  table.left_out = drop_worse_mixtures(question, table.plans);
  sort_plans(question, table.plans);
  name_best(question, table.plans);
  add_efficiency(question, times, table);
  return table;
}

PlanTable search_plans(const PlanQuestion& question, const DeviceTimes& times) {
  return compare_plans(question, plan_candidates(question.model, question.types, question.devices),
                       times);
}

}  // namespace headwise
