#include "advisor/report/plan_json.h"

#include "advisor/advice/plan_reasons.h"
#include "advisor/report/codesign_json.h"
#include "advisor/report/json_cells.h"
#include "core/check.h"

namespace headwise {
namespace {

using namespace json_cells;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json count_or_null(std::int64_t count) { return count > 0 ? Json(count) : Json(nullptr); }

void add_source(const Estimate& both, Json& json) {
  json["source"] = both ? Json(both.source()) : Json(nullptr);
  json["error"] = both ? Json(both.error) : Json(nullptr);
}

/// Why a time or the whole plan is not there.
std::string why_not(const PlanQuestion& question, const ParallelPlan& plan) {
  if (!plan.is_possible()) return plan.why_impossible;
  if (!plan.fits()) return why_it_does_not_fit(question, plan);
  for (const StepTime* step : {&plan.first, &plan.next})
    if (const Estimate total = step->total(); !total) return total.why_not;
  if (!plan.holds(question.batch))
    return concat("of ", question.batch, " requests only ", plan.largest_batch.requests, " fit");
  return plan.why_no_throughput;
}

Json names_of_best(const ParallelPlan& plan) {
  Json names = Json::array();
  if (plan.best_latency) names.push_back("latency");
  if (plan.best_throughput) names.push_back("throughput");
  return names;
}

Json widths_json(const ParallelPlan& plan) {
  const Deployment& widths = plan.deployment;
  return {{"name", plan.name}, {"tp", widths.tp},         {"adp", widths.adp},
          {"kvp", widths.kvp}, {"tp_ff", widths.tp_ff},   {"ep", widths.ep},
          {"pp", widths.pp},   {"gpus", widths.devices()}};
}

void add_memory(const ParallelPlan& plan, Json& json) {
  json["weights_bytes_per_gpu"] = plan.weights_bytes;
  json["kv_bytes_per_gpu"] = plan.kv_bytes;
  json["kv_copies"] = plan.kv_copies;
  json["missing_bytes_per_gpu"] =
      plan.missing_bytes > 0.0 ? Json(plan.missing_bytes) : Json(nullptr);
  json["largest_batch"] = count_or_null(plan.largest_batch.requests);
}

void add_times(const PlanQuestion& question, const ParallelPlan& plan, Json& json) {
  const Estimate first = plan.first.total();
  const Estimate next = plan.holds(question.batch) ? plan.next.total() : unknown("it does not fit");
  json["ttft_ms"] = ms(first);
  json["tpot_ms"] = ms(next);
  json["tpot_batch"] = question.batch;
  json["throughput_tok_s"] = or_null(plan.throughput);
  json["throughput_batch"] = count_or_null(plan.served);
  const Estimate& exchanges = plan.next.at(StepPart::communication);
  json["communication_ms"] = next ? ms(exchanges) : Json(nullptr);
  json["communication_share"] = next ? Json(exchanges.seconds / next.seconds) : Json(nullptr);
  add_source(label_of(first, plan.next.total()), json);
}

Json plan_json(const PlanQuestion& question, const PlanTable& table, const ParallelPlan& plan) {
  Json json = widths_json(plan);
  json["fits"] = plan.is_possible() && !plan.is_memory_known
                     ? Json(nullptr)
                     : Json(plan.is_possible() && plan.fits());
  json["why_not"] = text_or_null(why_not(question, plan));
  if (!plan.is_possible()) {
    for (const char* name :
         {"weights_bytes_per_gpu", "kv_bytes_per_gpu", "largest_batch", "ttft_ms", "tpot_ms",
          "throughput_tok_s", "communication_ms", "efficiency", "loses_because", "source", "error"})
      json[name] = nullptr;
    json["best_for"] = Json::array();
    json["flags"] = {{"vllm", nullptr}, {"trtllm", nullptr}};
    return json;
  }
  add_memory(plan, json);
  add_times(question, plan, json);
  json["efficiency"] = or_null(plan.efficiency);
  json["efficiency_reference_gpus"] = count_or_null(table.reference_devices);
  json["best_for"] = names_of_best(plan);
  json["loses_because"] = text_or_null(plan.loses_because);
  json["flags"] = {{"vllm", text_or_null(plan.vllm.flags)},
                   {"trtllm", text_or_null(plan.trtllm.flags)}};
  json["flags_why_not"] = {{"vllm", text_or_null(plan.vllm.why_not)},
                           {"trtllm", text_or_null(plan.trtllm.why_not)}};
  return json;
}

Json target_json(const std::optional<TargetAnswer>& target, bool TargetAnswer::*field) {
  return target ? Json((*target).*field) : Json(nullptr);
}

Json margin_json(const std::optional<TargetAnswer>& target) {
  return target ? Json(target->margin_ms) : Json(nullptr);
}

}  // namespace

Json plans_json(const CodesignQuestion& question, const CodesignReport& report, const Hardware&) {
  const PlanQuestion asked = plan_question(question);
  Json plans = Json::array();
  for (const ParallelPlan& plan : report.plans.plans)
    plans.push_back(plan_json(asked, report.plans, plan));
  return plans;
}

Json workload_json(const CodesignQuestion& question, const CodesignReport& report) {
  if (!question.workload || !report.workload) return nullptr;
  const Workload& asked = *question.workload;
  const WorkloadAnswer& answer = *report.workload;
  const Estimate first = answer.first.total(), next = answer.next.total();
  Json json{{"name", asked.name},
            {"ttft_ms", ms(first)},
            {"tpot_ms", ms(next)},
            {"throughput_tok_s", or_null(answer.throughput)},
            {"kv_bytes", answer.kv_bytes},
            {"ttft_target_ms", or_null(asked.ttft_target_ms)},
            {"tpot_target_ms", or_null(asked.tpot_target_ms)},
            {"meets_ttft", target_json(answer.ttft, &TargetAnswer::is_met)},
            {"meets_tpot", target_json(answer.tpot, &TargetAnswer::is_met)}};
  add_source(label_of(first, next), json);
  json.update(
      Json{{"ttft_margin_ms", margin_json(answer.ttft)},
           {"tpot_margin_ms", margin_json(answer.tpot)},
           {"ttft_is_sure", target_json(answer.ttft, &TargetAnswer::is_sure)},
           {"tpot_is_sure", target_json(answer.tpot, &TargetAnswer::is_sure)},
           {"ttft_without_reuse_ms", ms(answer.first_of_all)},
           {"tpot_with_prefills_ms", ms(answer.next_with_prefills)},
           {"kv_bytes_without_sharing", answer.kv_bytes_without_sharing},
           {"largest_concurrency", count_or_null(answer.most_conversations)},
           {"largest_concurrency_without_sharing", count_or_null(answer.most_without_sharing)},
           {"limit", answer.limit},
           {"context", answer.context},
           {"beyond_context", answer.context > question.model.context},
           {"shared_prefix", asked.shared_prefix},
           {"input", asked.input},
           {"output", asked.output},
           {"turns", asked.turns},
           {"concurrency", asked.concurrency},
           {"reuse", asked.reuse},
           {"file", asked.file.string()},
           {"note", text_or_null(asked.note)}});
  return json;
}

}  // namespace headwise
