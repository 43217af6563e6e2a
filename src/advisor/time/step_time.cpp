#include "advisor/time/step_time.h"

#include <algorithm>

#include "advisor/time/layer_time.h"
#include "core/check.h"

namespace headwise {
namespace {

std::int64_t divided(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

void check_step(const ModelDescription& model, const Deployment& deployment, const Step& step) {
  const std::string why = why_impossible(model, deployment);
  check(why.empty(), "this deployment is impossible: ", why);
  check(step.batch >= 1 && step.tokens.count >= 1 && step.tokens.prefix >= 0,
        "a step needs requests and new tokens");
}

/// A window's keys lie over all devices of kvp.
struct ContextPart {
  std::int64_t kvp;

  Attention operator()(SoftmaxAttention softmax) const {
    if (softmax.span.kind == SpanKind::sliding_window)
      softmax.span.tokens = divided(softmax.span.tokens, kvp);
    return softmax;
  }
  Attention operator()(const LatentAttention& latent) const { return latent; }
  Attention operator()(const LinearAttention& linear) const { return linear; }
};

}  // namespace

const char* name_of(StepPart part) {
  switch (part) {
    case StepPart::attention:
      return "attention";
    case StepPart::projections:
      return "attention projections";
    case StepPart::feed_forward:
      return "feed-forward";
    case StepPart::router:
      return "router";
    case StepPart::output_matrix:
      return "output matrix";
    case StepPart::communication:
      return "communication";
    case StepPart::overhead:
      break;
  }
  return "overhead";
}

Estimate StepTime::total() const {
  Estimate total;
  for (const Estimate& part : parts) total += part;
  return total;
}

std::optional<double> StepTime::attention_share() const {
  Estimate layers;
  for (const StepPart part :
       {StepPart::attention, StepPart::projections, StepPart::feed_forward, StepPart::router})
    layers += at(part);
  if (!layers) return std::nullopt;
  return at(StepPart::attention).seconds / layers.seconds;
}

CoreAttention core_attention(const Attention& attention, LatentForm form,
                             const Deployment& deployment, const Step& step) {
  CoreAttention core{.attention = sharded(attention, deployment.tp),
                     .form = form,
                     .q_type = deployment.q_type,
                     .kv_type = deployment.kv_type,
                     .batch = divided(step.batch, deployment.adp),
                     .tokens = step.tokens,
                     .chunk = deployment.chunk};
  const bool is_linear = std::holds_alternative<LinearAttention>(attention);
  if (step.is_decode() && deployment.kvp > 1 && !is_linear) {
    core.attention = std::visit(ContextPart{deployment.kvp}, core.attention);
    core.tokens.prefix = divided(step.tokens.prefix + 1, deployment.kvp) - 1;
  }
  return core;
}

StepTime step_time(const ModelDescription& model, const Deployment& deployment, const Step& step,
                   const DeviceTimes& times) {
  check_step(model, deployment, step);
  StepTime time;
  for (const auto& [count, layer] : model.groups) {
    const StepTime one = layer_time(layer, model.hidden, deployment, step, times);
    for (std::size_t part = 0; part < kStepParts; ++part)
      time.parts[part] += one.parts[part].scaled(static_cast<double>(count));
  }
  const std::int64_t requests = divided(step.batch, deployment.adp);
  Product output{.m = requests, .n = divided(model.vocab, deployment.tp), .k = model.hidden};
  if (deployment.stored) {
    output.stored = deployment.stored->output;
    output.largest_only = step.is_decode() && requests == 1;
  }
  time.at(StepPart::output_matrix) = times.time(output);
  if (deployment.pp > 1) {
    constexpr double kBf16Bytes = 2.0;
    const Estimate once = step_passes(deployment, step).add_up([&](const StepRows& rows) {
      const double bytes =
          kBf16Bytes * static_cast<double>(rows.attention) * static_cast<double>(model.hidden);
      return times.time(
          Exchange{.kind = Exchange::Kind::point_to_point, .bytes = bytes, .devices = 2});
    });
    time.at(StepPart::communication) += once.scaled(static_cast<double>(deployment.pp - 1));
  }
  return time;
}

}  // namespace headwise
