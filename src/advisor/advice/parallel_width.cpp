#include <algorithm>
#include <limits>

#include "advisor/advice/judge.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr const char* kNoTraining =
    "no training; that requests can be spread evenly over the groups, and what the exchange with "
    "the feed-forward takes on the real links";

std::string width_text(const Deployment& plan) {
  std::string text;
  const auto add = [&](const char* name, std::int64_t width) {
    if (width > 1) text += concat(text.empty() ? "" : " ", name, width);
  };
  add("TP", plan.tp);
  add("ADP", plan.adp);
  add("KVP", plan.kvp);
  return text;
}

/// The same devices and feed-forward: heads split as far as they divide the devices, the rest by
/// requests; or heads by KV heads and the rest by context.
std::vector<Deployment> other_widths(const Deployment& plan, std::int64_t kv_heads) {
  std::vector<Deployment> widths;
  const auto add = [&](std::int64_t tp, std::int64_t adp, std::int64_t kvp) {
    Deployment other = plan;
    other.tp = tp;
    other.adp = adp;
    other.kvp = kvp;
    if (tp != plan.tp || adp != plan.adp || kvp != plan.kvp) widths.push_back(other);
  };
  const std::int64_t devices = plan.stage_devices();
  for (std::int64_t tp = 1; tp <= devices; ++tp)
    if (devices % tp == 0) add(tp, devices / tp, 1);
  if (kv_heads < devices && devices % kv_heads == 0) add(kv_heads, 1, devices / kv_heads);
  return widths;
}

}  // namespace

Guideline judge_parallel_width(const Judge& judge) {
  const auto& [model, plan, load] = judge.served();
  const std::int64_t devices = plan.stage_devices(), kv_heads = fewest_kv_heads(model);
  Guideline guideline{.name = "parallel width",
                      .reason = concat("one device: heads could split over up to ", kv_heads),
                      .check = "nothing"};
  const bool keeps_keys = kv_heads < std::numeric_limits<std::int64_t>::max();
  if (!keeps_keys) guideline.reason = "no layer keeps keys";
  if (!keeps_keys || devices == 1) return guideline;
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const std::int64_t context = judge.context(), page = load.memory.page;
  const double copies = kv_bytes_per_device(model, plan, context, page) *
                        static_cast<double>(devices / plan.adp) /
                        kv_bytes_per_device(model, {.kv_type = plan.kv_type}, context, page);
  guideline.reason =
      concat(width_text(plan), " over ", kv_heads, kv_heads == 1 ? " stored head" : " KV heads",
             " keeps each request's KV ", short_number(copies), " times, ",
             short_number(kv_bytes_per_device(model, plan, context, page) / kGiB),
             " GiB a device at ", short_size(context));
  std::vector<Candidate> candidates;
  for (const Deployment& other : other_widths(plan, kv_heads))
    if (why_impossible(model, other).empty())
      candidates.push_back(judge.other_plan(concat(width_text(plan), " -> ", width_text(other)),
                                            other, kNoTraining));
  conclude(guideline, candidates, "throughput");
  if (copies >= kGainThatCounts) return guideline;
  // Nothing is kept twice: what else is faster is for the search of plans to say, not for this.
  guideline.verdict = GuidelineVerdict::follows;
  guideline.check = "nothing to change; that requests are spread evenly over the devices";
  for (const Candidate& candidate : candidates)
    if (candidate.served.deployment.tp == devices)
      guideline.gain = gain_text(candidate, "throughput");
  return guideline;
}

}  // namespace headwise
