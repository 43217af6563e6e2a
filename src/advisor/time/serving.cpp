#include "advisor/time/serving.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "advisor/model/kv_state.h"
#include "core/check.h"

namespace headwise {
namespace {

std::int64_t divided(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

/// Tokens of the pages that a layer of this span holds.
std::int64_t paged_tokens(const AttentionSpan& span, std::int64_t context, std::int64_t page) {
  const std::int64_t all = divided(context, page);
  if (span.kind != SpanKind::sliding_window)
    return divided(kept_tokens(span, context), page) * page;
  return std::min(all, divided(span.tokens - 1, page) + 1) * page;
}

AttentionSpan span_of(const Attention& attention) {
  const auto* softmax = std::get_if<SoftmaxAttention>(&attention);
  return softmax != nullptr ? softmax->span : AttentionSpan{};
}

/// A model of this one layer, to ask kv_state.
ModelDescription alone(const Attention& attention) {
  ModelDescription model;
  model.groups = {{.count = 1, .layer = {.attention = attention, .feed_forward = {}}}};
  model.group_of_layer = {0};
  return model;
}

/// One layer's bytes of one request.
std::int64_t layer_bytes(const Attention& attention, DType kv_type, std::int64_t context,
                         std::int64_t page) {
  const KvState state = kv_state(alone(attention), kv_type);
  return state.constant + (state.growing_per_token + state.windowed_per_token) *
                              paged_tokens(span_of(attention), context, page);
}

constexpr std::int64_t kShortestSearched = 256;
constexpr std::int64_t kLongestSearched = std::int64_t{1} << 24;
constexpr int kSearchedADoubling = 4;

using ShareOf = std::function<std::optional<double>(std::int64_t context)>;

/// `low` is below a half, `high` is not.
std::int64_t bisect(const ShareOf& share, std::int64_t low, std::int64_t high) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (share(middle).value_or(0.0) < 0.5 ? low : high) = middle;
  }
  return high;
}

/// Looks at kSearchedADoubling contexts a doubling, since a share need not rise everywhere.
Crossover find_half(const ShareOf& share) {
  std::int64_t below = 0;
  for (int step = 0;; ++step) {
    const auto context = static_cast<std::int64_t>(
        std::llround(static_cast<double>(kShortestSearched) *
                     std::exp2(static_cast<double>(step) / kSearchedADoubling)));
    if (context > kLongestSearched)
      return {
          .context = {},
          .why_not = concat("attention stays below a half up to ", kLongestSearched, " tokens")};
    const std::optional<double> now = share(context);
    if (!now) return {.context = {}, .why_not = "the time of a part is not known"};
    if (*now >= 0.5)
      return {.context = below == 0 ? context : bisect(share, below, context), .why_not = {}};
    below = context;
  }
}

}  // namespace

std::int64_t kv_bytes_in_pages(const ModelDescription& model, DType kv_type, std::int64_t context,
                               std::int64_t page) {
  std::int64_t bytes = 0;
  for (const auto& [count, layer] : model.groups)
    bytes += count * layer_bytes(layer.attention, kv_type, context, page);
  return bytes;
}

double kv_bytes_per_device(const ModelDescription& model, const Deployment& deployment,
                           std::int64_t context, std::int64_t page) {
  double bytes = 0.0;
  for (const auto& [count, layer] : model.groups) {
    const bool is_linear = std::holds_alternative<LinearAttention>(layer.attention);
    const auto own = static_cast<double>(
        layer_bytes(sharded(layer.attention, deployment.tp), deployment.kv_type, context, page));
    bytes +=
        static_cast<double>(count) * (is_linear ? own : own / static_cast<double>(deployment.kvp));
  }
  return bytes * stage_share(model, deployment);
}

BatchLimit largest_batch(const ModelDescription& model, const Deployment& deployment,
                         const Hardware& hardware, std::int64_t context, const MemoryPlan& plan) {
  if (!hardware.memory_bytes)
    return {.why_not = concat(hardware.name, ": its memory is not known")};
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const double room = hardware.memory_bytes->value * (1.0 - plan.reserve);
  const double weights = weight_bytes(model, deployment);
  if (weights > room)
    return {.why_not = concat("weights of ", std::round(weights / kGiB * 10.0) / 10.0,
                              " GiB a device do not fit in ", std::round(room / kGiB * 10.0) / 10.0,
                              " GiB")};
  const double request = kv_bytes_per_device(model, deployment, context, plan.page);
  const auto requests = static_cast<std::int64_t>((room - weights) / request);
  if (requests < 1)
    return {.why_not = concat("a request of ", std::round(request / kGiB * 10.0) / 10.0,
                              " GiB does not fit beside the weights")};
  const auto groups = static_cast<double>(deployment.adp) * deployment.balance;
  return {.requests = std::max<std::int64_t>(
              1, static_cast<std::int64_t>(static_cast<double>(requests) * groups)),
          .why_not = {}};
}

StepTime first_token(const ModelDescription& model, const Deployment& deployment,
                     const NewTokens& prompt, const DeviceTimes& times) {
  return step_time(model, deployment, {.batch = deployment.adp, .tokens = prompt}, times);
}

StepTime next_token(const ModelDescription& model, const Deployment& deployment, std::int64_t batch,
                    std::int64_t context, const DeviceTimes& times) {
  const std::int64_t together = divided(batch, deployment.pp);
  const double mean = static_cast<double>(together) / static_cast<double>(deployment.adp);
  const std::int64_t fullest =
      std::min(together, static_cast<std::int64_t>(std::ceil(mean / deployment.balance)));
  const Step step{.batch = std::max(together, (fullest - 1) * deployment.adp + 1),
                  .tokens = {.prefix = context - 1, .count = 1}};
  StepTime time = step_time(model, deployment, step, times);
  // As many parts as there are stages keep all of them busy, and go at the fullest one's pace.
  const double pace =
      static_cast<double>(std::min(batch, deployment.pp)) * stage_share(model, deployment);
  if (pace > 1.0)
    for (Estimate& part : time.parts) part = part.scaled(pace);
  return time;
}

Crossover prefill_crossover(const ModelDescription& model, const Deployment& deployment,
                            const DeviceTimes& times) {
  return find_half([&](std::int64_t context) {
    return first_token(model, deployment, {.prefix = 0, .count = context}, times).attention_share();
  });
}

Crossover decode_crossover(const ModelDescription& model, const Deployment& deployment,
                           std::int64_t batch, const DeviceTimes& times) {
  return find_half([&](std::int64_t context) {
    return next_token(model, deployment, batch, context, times).attention_share();
  });
}

}  // namespace headwise
