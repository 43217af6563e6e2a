#include "advisor/report/plan_text.h"

#include <algorithm>
#include <set>

#include "advisor/advice/plan_reasons.h"
#include "advisor/report/text_table.h"
#include "core/check.h"

namespace headwise {
namespace {

using Row = std::vector<std::string>;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kMsPerSecond = 1e3;
constexpr std::size_t kMostRows = 14;

std::string ms(const Estimate& estimate) {
  return estimate ? three_digits(estimate.seconds * kMsPerSecond) : std::string("-");
}

std::string gib(double bytes) { return fixed(bytes / kGiB, 2); }

std::string label(const Estimate& estimate) {
  return estimate ? concat(estimate.source(), " +-", fixed(100.0 * estimate.error, 0), "%")
                  : std::string("unknown");
}

/// Attention, or the layers, are split in one way.
bool is_simple(const ParallelPlan& plan) {
  const Deployment& widths = plan.deployment;
  const int ways = (widths.tp > 1) + (widths.adp > 1) + (widths.kvp > 1) + (widths.pp > 1);
  return ways <= 1;
}

Row plan_row(const PlanQuestion& question, const ParallelPlan& plan) {
  const bool holds = plan.holds(question.batch);
  const std::string best = plan.best_latency || plan.best_throughput ? "* " : "  ";
  return {concat(best, plan.name),
          ms(plan.first.total()),
          holds ? ms(plan.next.total()) : std::string("-"),
          holds ? ms(plan.next.at(StepPart::communication)) : std::string("-"),
          plan.largest_batch.requests > 0 ? concat(plan.largest_batch.requests) : std::string("-"),
          plan.throughput ? fixed(*plan.throughput, 0) : std::string("-"),
          plan.efficiency ? fixed(*plan.efficiency, 2) : std::string("-"),
          gib(plan.weights_bytes),
          gib(plan.kv_bytes),
          plan.next.total() ? concat(fixed(100.0 * plan.next.total().error, 0), "%")
                            : std::string("-")};
}

std::vector<const ParallelPlan*> shown_plans(const PlanTable& table) {
  std::vector<const ParallelPlan*> shown;
  for (const ParallelPlan& plan : table.plans)
    if (plan.is_possible() && (plan.best_latency || plan.best_throughput || is_simple(plan)))
      shown.push_back(&plan);
  if (shown.size() > kMostRows) {
    const auto is_best = [](const ParallelPlan* plan) {
      return plan->best_latency || plan->best_throughput;
    };
    std::ranges::stable_sort(shown, {}, [&](const ParallelPlan* plan) { return !is_best(plan); });
    shown.resize(kMostRows);
  }
  return shown;
}

std::string verdict(const PlanQuestion& question, const ParallelPlan& plan) {
  if (!plan.fits()) return why_it_does_not_fit(question, plan);
  std::string text = plan.loses_because;
  if (plan.best_latency) text = "best for latency";
  if (plan.best_throughput)
    text = plan.best_latency ? "best for latency and for throughput" : "best for throughput";
  return concat(text, " (", plan.next.total() ? plan.next.total().source() : "unknown", ")");
}

std::string engine_text(const char* engine, const EngineFlags& flags) {
  return wrapped(
      concat(engine, ": ", flags.flags.empty() ? concat("- (", flags.why_not, ")") : flags.flags),
      6);
}

std::string reference_text(const PlanQuestion& question, const PlanTable& table) {
  if (table.reference_devices == 0)
    return concat("no plan of up to ", question.devices, " GPUs holds the model and a request");
  const std::string what =
      concat("efficiency: throughput a GPU beside the best plan's of ", table.reference_devices);
  if (table.reference_devices == 1) return concat(what, " GPU");
  return concat(what, " GPUs; fewer do not hold the model and a request");
}

std::string target_text(const std::optional<double>& target_ms,
                        const std::optional<TargetAnswer>& answer) {
  if (!target_ms) return "no target";
  if (!answer) return concat("target ", three_digits(*target_ms), ": not known");
  return concat(answer->is_met ? "holds " : "misses ", three_digits(*target_ms), " by ",
                three_digits(answer->is_met ? answer->margin_ms : -answer->margin_ms),
                answer->is_sure ? "" : ", within the error");
}

}  // namespace

std::string plans_text(const CodesignQuestion& question, const PlanTable& table) {
  if (!question.asks_plans || question.deployment.devices() == 1) return {};
  const PlanQuestion asked = plan_question(question);
  std::vector<Row> rows{{"  plan", "TTFT ms", "TPOT ms", "comm ms", "batch", "tok/s", "eff.",
                         "weights", "KV GiB", "TPOT +-"}};
  const std::vector<const ParallelPlan*> shown = shown_plans(table);
  for (const ParallelPlan* plan : shown) rows.push_back(plan_row(asked, *plan));
  std::string text = concat("\nplans of ", asked.devices, " GPUs at ", short_size(asked.context),
                            ", TPOT of ", asked.batch, asked.batch == 1 ? " request" : " requests",
                            ", weights and a request's KV a GPU\n", table_text(rows));
  text += wrapped(reference_text(asked, table), 0);
  for (const ParallelPlan* plan : shown) {
    text += concat("\n  ", plan->name, "\n", wrapped(verdict(asked, *plan), 4));
    if (plan->best_latency || plan->best_throughput)
      text += engine_text("vLLM", plan->vllm) + engine_text("TensorRT-LLM", plan->trtllm);
  }
  std::set<std::string> impossible;
  for (const ParallelPlan& plan : table.plans)
    if (!plan.is_possible() && is_simple(plan))
      impossible.insert(concat(plan.name, ": ", plan.why_impossible));
  for (const std::string& each : impossible) text += wrapped(each, 2);
  const std::size_t others = table.plans.size() - shown.size() - impossible.size();
  if (others > 0) text += concat("  ", others, " more plans with --json\n");
  return text;
}

std::string workload_text(const Workload& workload, const WorkloadAnswer& answer) {
  const Estimate first = answer.first.total(), next = answer.next.total();
  const auto most = [](std::int64_t count) { return count > 0 ? concat(count) : std::string("-"); };
  std::string text =
      concat("\nworkload ", workload.name, ": ", workload.concurrency, " conversations of ",
             workload.turns, " turns, ", answer.context, " tokens at the end\n");
  const std::vector<Row> rows{
      {"  last turn", "value", "target", "source"},
      {"  TTFT ms", ms(first), target_text(workload.ttft_target_ms, answer.ttft), label(first)},
      {"  TTFT ms, nothing cached", ms(answer.first_of_all), "", label(answer.first_of_all)},
      {"  TPOT ms", ms(next), target_text(workload.tpot_target_ms, answer.tpot), label(next)},
      {"  TPOT ms with others' prefills", ms(answer.next_with_prefills), "",
       label(answer.next_with_prefills)},
      {"  tok/s", answer.throughput ? fixed(*answer.throughput, 0) : std::string("-"), "", ""},
      {"  KV GiB, shared prefix once", gib(answer.kv_bytes), "", ""},
      {"  KV GiB, without sharing", gib(answer.kv_bytes_without_sharing), "", ""},
      {"  conversations that fit", most(answer.most_conversations), "", ""},
      {"  without sharing", most(answer.most_without_sharing), "", ""}};
  return concat(text, table_text(rows), wrapped(answer.limit, 2));
}

}  // namespace headwise
