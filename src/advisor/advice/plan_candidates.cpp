#include "advisor/advice/plan_candidates.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "advisor/time/usual_plan.h"
#include "core/check.h"

namespace headwise {
namespace {

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> found;
  for (std::int64_t each = 1; each <= number; ++each)
    if (number % each == 0) found.push_back(each);
  return found;
}

bool keeps_context(const ModelDescription& model) {
  for (const EqualLayers& group : model.groups)
    if (!std::holds_alternative<LinearAttention>(group.layer.attention)) return true;
  return false;
}

/// Kernels take so many columns of an expert at once, and fp8_block has one scale for them.
constexpr std::int64_t kLeastColumns = 128;

std::string why_too_narrow(const ModelDescription& model, const Deployment& plan) {
  for (const EqualLayers& group : model.groups) {
    const auto* moe = std::get_if<MixtureOfExperts>(&group.layer.feed_forward);
    if (moe == nullptr || plan.experts_tp() == 1) continue;
    const std::int64_t columns = moe->expert_width / plan.experts_tp();
    if (columns < kLeastColumns)
      return concat(plan.experts_tp(), " devices an expert leave each ", columns,
                    " columns, less than a tile of ", kLeastColumns);
  }
  return {};
}

/// The feed-forwards that go with one way of splitting attention.
void add_feed_forwards(const ModelDescription& model, Deployment plan,
                       std::vector<PlanCandidate>& candidates) {
  const std::int64_t group = plan.tp * plan.kvp, stage = plan.stage_devices();
  std::vector<PlanCandidate> ways;
  const auto add = [&](std::int64_t tp_ff, std::int64_t ep) {
    plan.tp_ff = tp_ff;
    plan.ep = ep;
    ways.push_back({plan, why_not_plan(model, plan)});
  };
  if (routed_experts(model) == 0)
    for (const std::int64_t width : std::set{group, stage}) add(width, 1);
  else
    for (const std::int64_t ep : divisors(stage)) add(group, ep);
  const PlanCandidate last = ways.back();
  std::erase_if(ways, [](const PlanCandidate& way) { return !way.why_impossible.empty(); });
  if (ways.empty()) ways.push_back(last);
  candidates.insert(candidates.end(), ways.begin(), ways.end());
}

}  // namespace

std::string why_not_plan(const ModelDescription& model, const Deployment& plan) {
  if (std::string why = why_impossible(model, plan); !why.empty()) return why;
  if (std::string why = why_too_narrow(model, plan); !why.empty()) return why;
  if (plan.kvp == 1) return {};
  if (!keeps_context(model)) return "no layer keeps a context that kvp could split";
  const std::int64_t heads = fewest_kv_heads(model);
  if (plan.tp > heads)
    return concat("tp ", plan.tp, " duplicates ", heads, heads == 1 ? " KV head" : " KV heads",
                  ", which kvp is there to avoid");
  return {};
}

std::vector<PlanCandidate> plan_candidates(const ModelDescription& model, const Deployment& types,
                                           std::int64_t devices) {
  std::vector<PlanCandidate> candidates;
  Deployment plan = types;
  for (const std::int64_t pp : divisors(devices))
    for (const std::int64_t tp : divisors(devices / pp))
      for (const std::int64_t kvp : divisors(devices / pp / tp)) {
        plan.pp = pp;
        plan.tp = tp;
        plan.kvp = kvp;
        plan.adp = devices / pp / tp / kvp;
        add_feed_forwards(model, plan, candidates);
      }
  return candidates;
}

Deployment possible_plan(const ModelDescription& model, const Deployment& types,
                         std::int64_t devices) {
  const Deployment usual = usual_plan(model, types, devices);
  const std::string why = why_impossible(model, usual);
  if (why.empty()) return usual;
  std::vector<PlanCandidate> candidates = plan_candidates(model, types, devices);
  std::erase_if(candidates, [](const PlanCandidate& each) {
    return !each.why_impossible.empty() || each.deployment.kvp > 1;
  });
  check(!candidates.empty(), "no plan of ", devices, " devices is possible: ", why);
  return std::ranges::min_element(candidates, {},
                                  [](const PlanCandidate& each) {
                                    const Deployment& widths = each.deployment;
                                    return std::tuple(widths.pp, widths.adp, -widths.ep,
                                                      widths.tp_ff);
                                  })
      ->deployment;
}

}  // namespace headwise
