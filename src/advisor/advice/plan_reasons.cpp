#include "advisor/advice/plan_reasons.h"

#include <cmath>
#include <cstdio>

#include "core/check.h"

namespace headwise {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kCopiesThatCount = 1.5;
constexpr double kBatchThatCounts = 0.9;  ///< of the better plan's

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string times_text(double ratio) { return concat(number(ratio, ratio < 10.0 ? 2 : 0), " x "); }

std::string gib(double bytes) { return number(bytes / kGiB, 1); }

/// The part that takes most more of one step than of another, each divided by its own count.
struct LargestExcess {
  StepPart part = StepPart::attention;
  double seconds = 0.0;
};
LargestExcess largest_excess(const StepTime& step, double count, const StepTime& other,
                             double other_count) {
  LargestExcess largest;
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const double more = step.parts[i].seconds / count - other.parts[i].seconds / other_count;
    if (more > largest.seconds) largest = {static_cast<StepPart>(i), more};
  }
  return largest;
}

std::string split_text(const char* what, std::int64_t own, std::int64_t other) {
  return concat(what, own == 1 ? " on one GPU" : concat(" split over ", own, " GPUs"),
                " instead of ", other);
}

/// Why a plan's step has more of a part than a better plan's.
std::string mechanism(const ParallelPlan& plan, const ParallelPlan& best, StepPart part,
                      const StepTime& step) {
  const Deployment &own = plan.deployment, &other = best.deployment;
  if (part == StepPart::communication)
    return concat("communication is ",
                  number(100.0 * step.at(part).seconds / step.total().seconds, 0),
                  " % of its step");
  if (own.stage_devices() < other.stage_devices())
    return concat(split_text("a layer is", own.stage_devices(), other.stage_devices()),
                  ", stage after stage");
  if (part == StepPart::attention && plan.kv_copies > kCopiesThatCount * best.kv_copies)
    return concat("each request's KV lies and is read ", number(plan.kv_copies, 1), " times");
  if (part == StepPart::attention && own.tp * own.kvp < other.tp * other.kvp)
    return split_text("a request's attention is", own.tp * own.kvp, other.tp * other.kvp);
  if (part == StepPart::projections && own.tp < other.tp)
    return split_text("attention's weights are", own.tp, other.tp);
  if (part == StepPart::output_matrix && own.tp < other.tp)
    return split_text("the output matrix is", own.tp, other.tp);
  if (part == StepPart::feed_forward && own.tp_ff < other.tp_ff)
    return split_text("dense layers and shared experts are", own.tp_ff, other.tp_ff);
  if (part == StepPart::feed_forward && own.experts_tp() > other.experts_tp())
    return concat("each expert's width is split over ", own.experts_tp(), " GPUs");
  if (part == StepPart::feed_forward && own.ep > other.ep)
    return "the GPU whose experts more tokens chose is waited for";
  return "the fullest GPU has more to do";
}

std::string latency_text(const PlanQuestion& question, const ParallelPlan& plan,
                         const ParallelPlan& best) {
  if (!plan.holds(question.batch))
    return concat("of ", question.batch, " requests only ", plan.largest_batch.requests, " fit");
  const Estimate own = plan.next.total(), other = best.next.total();
  if (!own) return concat("its TPOT is not known: ", own.why_not);
  const LargestExcess excess = largest_excess(plan.next, 1.0, best.next, 1.0);
  std::string text = concat("TPOT is ", times_text(own.seconds / other.seconds), best.name, "'s");
  if (excess.seconds > 0.0)
    text += concat(", ", number(excess.seconds * 1e3, 2), " ms more of ", name_of(excess.part),
                   ": ", mechanism(plan, best, excess.part, plan.next));
  return text;
}

std::string batch_text(const ParallelPlan& plan, const ParallelPlan& best) {
  std::string text =
      concat("it serves ", plan.served, " requests at once instead of ", best.served);
  if (plan.kv_copies > kCopiesThatCount * best.kv_copies)
    return concat(text, ", since each request's KV lies ", number(plan.kv_copies, 1), " times");
  if (plan.weights_bytes > 1.05 * best.weights_bytes)
    return concat(text, ", since weights take ", gib(plan.weights_bytes), " GiB a GPU instead of ",
                  gib(best.weights_bytes));
  return text;
}

std::string throughput_text(const ParallelPlan& plan, const ParallelPlan& best) {
  if (!plan.throughput) return concat("it has no throughput: ", plan.why_no_throughput);
  std::string text =
      concat("throughput is ", times_text(*plan.throughput / *best.throughput), best.name, "'s: ");
  const auto own = static_cast<double>(plan.served), other = static_cast<double>(best.served);
  if (own < kBatchThatCounts * other) return concat(text, batch_text(plan, best));
  if (plan.deployment.pp > best.deployment.pp)
    return concat(text, "its requests go in ", plan.deployment.pp,
                  " parts, for each of which a stage's weights are read");
  const LargestExcess excess = largest_excess(plan.at_served, own, best.at_served, other);
  return concat(text, mechanism(plan, best, excess.part, plan.at_served));
}

}  // namespace

std::string why_it_loses(const PlanQuestion& question, const ParallelPlan& plan,
                         const ParallelPlan* latency, const ParallelPlan* throughput) {
  std::string text;
  if (latency != nullptr) text = latency_text(question, plan, *latency);
  if (throughput != nullptr)
    text += concat(text.empty() ? "" : "; ", throughput_text(plan, *throughput));
  return text;
}

std::string why_it_does_not_fit(const PlanQuestion& question, const ParallelPlan& plan) {
  if (plan.missing_bytes <= 0.0) return plan.largest_batch.why_not;
  const double request = plan.kv_bytes * static_cast<double>(plan.deployment.adp);
  const double room = plan.weights_bytes + request - plan.missing_bytes;
  return concat("does not fit by ", gib(plan.missing_bytes), " GiB a GPU: weights ",
                gib(plan.weights_bytes), ", a request of ", question.context, " tokens ",
                gib(request), ", room ", gib(room));
}

}  // namespace headwise
