#include "advisor/report/codesign.h"

#include <algorithm>

#include "advisor/model/model_work.h"
#include "core/check.h"

namespace headwise {
namespace {

RooflinePoint roofline_point(const CodesignQuestion& question, std::int64_t context,
                             bool is_prefill, const DeviceTimes& times) {
  const Attention& attention = heaviest_attention(question.model).layer.attention;
  const Step step{.batch = is_prefill ? question.deployment.adp : question.batch,
                  .tokens = is_prefill ? NewTokens{.prefix = 0, .count = context}
                                       : NewTokens{.prefix = context - 1, .count = 1}};
  const CoreAttention core =
      core_attention(attention, is_prefill ? LatentForm::expanded : LatentForm::absorbed,
                     question.deployment, step);
  const DeviceWork work = core_attention_work(core);
  const char* phase = is_prefill ? "prefill" : "decode";
  return {.name = concat(phase, " ", short_size(context)),
          .phase = phase,
          .intensity = work.flops / work.bytes,
          .flops = work.flops,
          .time = times.time(core),
          .limit = limit_of(times.hardware(), core)};
}

}  // namespace

PlanQuestion plan_question(const CodesignQuestion& question) {
  const std::int64_t context = std::ranges::max(question.contexts);
  return {.model = question.model,
          .types = question.deployment,
          .memory = question.memory,
          .devices = question.deployment.devices(),
          .context = context,
          .prefix = question.prefix < context ? question.prefix : 0,
          .batch = question.plan_batch,
          .longest_tpot_s = question.longest_tpot_s};
}

CodesignReport codesign(const CodesignQuestion& question, const DeviceTimes& times) {
  CodesignReport report;
  const Served served = question.served();
  for (const std::int64_t context : question.contexts) {
    report.contexts.push_back(context_times(served, context, times));
    for (const bool is_prefill : {true, false})
      report.roofline.push_back(roofline_point(question, context, is_prefill, times));
  }
  report.prefill_crossover = prefill_crossover(question.model, question.deployment, times);
  report.decode_crossover =
      decode_crossover(question.model, question.deployment, question.batch, times);
  const std::int64_t longest = std::ranges::max(question.contexts);
  report.guidelines = judge_guidelines(served, longest, times);
  for (const SweepRequest& request : question.sweeps)
    report.sweeps.push_back(sweep(
        served, request, question.sweep_context > 0 ? question.sweep_context : longest, times));
  report.plans = question.asks_plans
                     ? search_plans(plan_question(question), times)
                     : compare_plans(plan_question(question), {{question.deployment, {}}}, times);
  if (question.workload)
    report.workload = answer_workload(*question.workload, question.model, question.deployment,
                                      question.memory, times);
  return report;
}

}  // namespace headwise
