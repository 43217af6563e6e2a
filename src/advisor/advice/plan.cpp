#include "advisor/advice/plan.h"

#include <algorithm>

#include "advisor/advice/plan_candidates.h"
#include "advisor/advice/plan_name.h"
#include "core/check.h"

namespace headwise {
namespace {

StepTime step_of(const PlanQuestion& question, const Deployment& deployment, std::int64_t batch,
                 const DeviceTimes& times) {
  return next_token(question.model, deployment, batch, question.context, times);
}

/// The most requests up to `most` whose step takes no longer than asked; steps of more requests
/// take longer.
std::int64_t requests_within(const PlanQuestion& question, const Deployment& deployment,
                             std::int64_t most, const DeviceTimes& times) {
  const auto is_within = [&](std::int64_t batch) {
    const Estimate step = step_of(question, deployment, batch, times).total();
    return step && step.seconds <= *question.longest_tpot_s;
  };
  if (is_within(most)) return most;
  std::int64_t low = 0, high = most;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_within(middle) ? low : high) = middle;
  }
  return low;
}

void add_memory(const PlanQuestion& question, const Hardware& hardware, ParallelPlan& plan) {
  const Deployment& deployment = plan.deployment;
  const std::int64_t page = question.memory.page;
  plan.weights_bytes = weight_bytes(question.model, deployment);
  const double request = kv_bytes_per_device(question.model, deployment, question.context, page);
  plan.kv_bytes = request / static_cast<double>(deployment.adp);
  plan.kv_copies = plan.kv_bytes * static_cast<double>(deployment.devices()) /
                   static_cast<double>(kv_bytes_in_pages(question.model, deployment.kv_type,
                                                         question.context, page));
  plan.largest_batch =
      largest_batch(question.model, deployment, hardware, question.context, question.memory);
  plan.is_memory_known = hardware.memory_bytes.has_value();
  if (!plan.fits())
    plan.missing_bytes = plan.weights_bytes + request -
                         hardware.memory_bytes->value * (1.0 - question.memory.reserve);
}

void add_throughput(const PlanQuestion& question, const DeviceTimes& times, ParallelPlan& plan) {
  plan.served = plan.largest_batch.requests;
  plan.why_no_throughput = plan.largest_batch.why_not;
  if (plan.served == 0) return;
  if (question.longest_tpot_s) {
    plan.served = requests_within(question, plan.deployment, plan.served, times);
    if (plan.served == 0) {
      plan.why_no_throughput =
          concat("a step of one request takes longer than ", *question.longest_tpot_s * 1e3, " ms");
      return;
    }
  }
  plan.at_served = step_of(question, plan.deployment, plan.served, times);
  const Estimate step = plan.at_served.total();
  if (step)
    plan.throughput = static_cast<double>(plan.served) / step.seconds;
  else
    plan.why_no_throughput = step.why_not;
}

}  // namespace

ParallelPlan evaluate_plan(const PlanQuestion& question, const Deployment& deployment,
                           const DeviceTimes& times) {
  ParallelPlan plan;
  plan.name = plan_name(deployment);
  plan.deployment = deployment;
  plan.why_impossible = why_not_plan(question.model, deployment);
  if (!plan.is_possible()) return plan;
  add_memory(question, times.hardware(), plan);
  const NewTokens prompt{.prefix = question.prefix, .count = question.context - question.prefix};
  plan.first = first_token(question.model, deployment, prompt, times);
  plan.next = step_of(question, deployment, question.batch, times);
  add_throughput(question, times, plan);
  plan.vllm = vllm_flags(question.model, deployment);
  plan.trtllm = trtllm_flags(question.model, deployment, times.hardware(), question.memory.page);
  return plan;
}

}  // namespace headwise
