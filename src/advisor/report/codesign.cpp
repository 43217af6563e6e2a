#include "advisor/report/codesign.h"

#include <algorithm>

#include "advisor/model/kv_state.h"
#include "core/check.h"

namespace headwise {
namespace {

void add_append(const CodesignQuestion& question, const DeviceTimes& times, ContextTimes& row) {
  if (question.prefix == 0) {
    row.why_no_append = "no prefix is cached";
    return;
  }
  if (row.context <= question.prefix) {
    row.why_no_append = concat("the cached prefix of ", question.prefix, " tokens is not shorter");
    return;
  }
  const NewTokens prompt{.prefix = question.prefix, .count = row.context - question.prefix};
  row.append = first_token(question.model, question.deployment, prompt, times);
}

ContextTimes context_times(const CodesignQuestion& question, std::int64_t context,
                           const DeviceTimes& times) {
  const ModelDescription& model = question.model;
  const Deployment& deployment = question.deployment;
  ContextTimes row{
      .context = context,
      .prefill = first_token(model, deployment, {.prefix = 0, .count = context}, times),
      .decode = next_token(model, deployment, question.batch, context, times),
      .kv_bytes = kv_bytes(model, deployment.kv_type, context),
      .kv_bytes_in_pages =
          kv_bytes_in_pages(model, deployment.kv_type, context, question.memory.page),
      .largest_batch = largest_batch(model, deployment, times.hardware(), context, question.memory),
      .decode_at_largest = {}};
  add_append(question, times, row);
  row.decode_at_largest =
      row.largest_batch.requests > 0
          ? next_token(model, deployment, row.largest_batch.requests, context, times).total()
          : unknown(row.largest_batch.why_not);
  return row;
}

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

const EqualLayers& heaviest_attention(const ModelDescription& model) {
  const NewTokens all{.prefix = 0, .count = model.context};
  return *std::ranges::max_element(model.groups, {}, [&](const EqualLayers& group) {
    return static_cast<double>(group.count) *
           core_attention_flops(group.layer.attention, all, LatentForm::expanded);
  });
}

std::string short_size(std::int64_t tokens) {
  constexpr std::int64_t kThousand = 1024, kMillion = kThousand * kThousand;
  if (tokens % kMillion == 0) return concat(tokens / kMillion, "m");
  if (tokens % kThousand == 0) return concat(tokens / kThousand, "k");
  return concat(tokens);
}

CodesignReport codesign(const CodesignQuestion& question, const DeviceTimes& times) {
  CodesignReport report;
  for (const std::int64_t context : question.contexts) {
    // A decode sees a token before its own.
    check(context >= 2, "a context of ", context, " tokens is too short");
    report.contexts.push_back(context_times(question, context, times));
    for (const bool is_prefill : {true, false})
      report.roofline.push_back(roofline_point(question, context, is_prefill, times));
  }
  report.prefill_crossover = prefill_crossover(question.model, question.deployment, times);
  report.decode_crossover =
      decode_crossover(question.model, question.deployment, question.batch, times);
  report.plans = question.asks_plans
                     ? search_plans(plan_question(question), times)
                     : compare_plans(plan_question(question), {{question.deployment, {}}}, times);
  if (question.workload)
    report.workload = answer_workload(*question.workload, question.model, question.deployment,
                                      question.memory, times);
  return report;
}

}  // namespace headwise
