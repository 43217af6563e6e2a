#include "advisor/time/layer_time.h"

#include <algorithm>
#include <utility>

#include "advisor/time/layer_exchanges.h"
#include "advisor/time/projections.h"

namespace headwise {
namespace {

constexpr double kContextParallelError = 0.1;
constexpr double kBf16Bytes = 2.0;

std::int64_t divided(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

class LayerTimes {
 public:
  LayerTimes(std::int64_t hidden, const Deployment& deployment, const Step& step,
             const DeviceTimes& times)
      : hidden_(hidden),
        deployment_(deployment),
        step_(step),
        times_(times),
        rows_(step_rows(deployment, step)) {}

  StepTime attention(const Attention& attention) const {
    const auto* latent = std::get_if<LatentAttention>(&attention);
    if (latent != nullptr && is_sparse(*latent))
      return attention_in(LatentForm::absorbed, attention);
    if (latent == nullptr || step_.tokens.prefix == 0)
      return attention_in(LatentForm::expanded, attention);
    const StepTime absorbed = attention_in(LatentForm::absorbed, attention);
    if (step_.is_decode()) return absorbed;
    const StepTime expanded = attention_in(LatentForm::expanded, attention);
    return expanded.total().seconds < absorbed.total().seconds ? expanded : absorbed;
  }

  StepTime feed_forward(const DenseFeedForward& dense) const {
    StepTime time;
    time.at(StepPart::feed_forward) = gated(dense.width);
    return time;
  }

  StepTime feed_forward(const MixtureOfExperts& moe) const {
    StepTime time;
    Estimate& estimate = time.at(StepPart::feed_forward);
    estimate = per_step(times_.time(Experts{.tokens = rows_.all,
                                            .hidden = moe.routed_hidden(hidden_),
                                            .width = moe.expert_width,
                                            .experts = moe.experts,
                                            .top_k = moe.top_k,
                                            .tp = deployment_.experts_tp(),
                                            .ep = deployment_.ep,
                                            .weights = deployment_.feed_forward,
                                            .routing = deployment_.routing}));
    if (moe.latent_width > 0) estimate += latent(moe.latent_width);
    if (moe.shared_experts > 0) {
      const Estimate shared = gated(moe.shared_experts * moe.shared_width);
      const bool beside = deployment_.shared_beside_routed && step_.is_decode();
      estimate = beside ? larger(estimate, shared) : shared + estimate;
    }
    const std::int64_t columns = moe.experts + (moe.shared_gate ? 1 : 0);
    time.at(StepPart::router) =
        per_step(times_.time(Product{.m = rows_.feed_forward, .n = columns, .k = hidden_}));
    return time;
  }

  Estimate communication(const LayerDescription& layer) const {
    Estimate estimate;
    for (const Exchange& exchange : layer_exchanges(layer, hidden_, deployment_, step_, rows_))
      estimate += times_.time(exchange);
    return per_step(estimate);
  }

  /// Two norms with their residuals, positions, the feed-forward's activation: each reads and
  /// writes bf16 once.
  Estimate overhead(const LayerDescription& layer) const {
    const auto* dense = std::get_if<DenseFeedForward>(&layer.feed_forward);
    const std::int64_t width = dense != nullptr ? dense->width / deployment_.tp_ff : 0;
    std::int64_t projected = 0;
    for (const Product& product : products(LatentForm::absorbed, layer.attention))
      projected += product.n;
    const auto row = static_cast<double>(8 * hidden_ + 2 * projected + 3 * width);
    return per_step(
        times_.time(Pass{.rows = projected_rows(),
                         .hidden = hidden_,
                         .projected = projected,
                         .feed_forward = width,
                         .bytes = kBf16Bytes * row * static_cast<double>(projected_rows()),
                         .kernels = 4}));
  }

 private:
  /// Picked tokens differ from query to query: no expanded keys are shared.
  bool is_sparse(const LatentAttention& latent) const {
    return latent.indexer && step_.tokens.prefix + step_.tokens.count > latent.indexer->top_k;
  }

  Estimate per_step(const Estimate& pass) const { return pass.scaled(rows_.passes); }

  /// Prefill splits rows of a request over kvp; decode has each of them on all of kvp.
  std::int64_t projected_rows() const {
    return step_.is_decode() ? rows_.attention : divided(rows_.attention, deployment_.kvp);
  }

  std::vector<Product> products(LatentForm form, const Attention& attention) const {
    ProjectionRows rows{.tokens = projected_rows(), .expanded = projected_rows()};
    if (step_.is_decode()) rows.out_split = deployment_.kvp;
    if (form == LatentForm::expanded)
      rows.expanded += divided(step_.batch, deployment_.adp) * step_.tokens.prefix;
    return attention_projections(attention, hidden_, rows, deployment_);
  }

  StepTime attention_in(LatentForm form, const Attention& attention) const {
    StepTime time;
    const Estimate core = times_.time(core_attention(attention, form, deployment_, step_));
    const bool is_split = deployment_.kvp > 1 && !step_.is_decode();
    time.at(StepPart::attention) =
        is_split
            ? core.scaled(1.0 / static_cast<double>(deployment_.kvp)).by_rule(kContextParallelError)
            : core;
    for (const Product& product : products(form, attention))
      time.at(StepPart::projections) += per_step(times_.time(product));
    return time;
  }

  /// From the hidden state to routed experts' width and back.
  Estimate latent(std::int64_t width) const {
    const Product down{
        .m = rows_.feed_forward, .n = width, .k = hidden_, .weights = deployment_.feed_forward};
    Product up = down;
    std::swap(up.n, up.k);
    return per_step(times_.time(down) + times_.time(up));
  }

  Estimate gated(std::int64_t width) const {
    const std::int64_t own = divided(width, deployment_.tp_ff);
    Product in{
        .m = rows_.feed_forward, .n = 2 * own, .k = hidden_, .weights = deployment_.feed_forward};
    Product out = in;
    out.n = hidden_;
    out.k = own;
    if (deployment_.stored) {
      in.stored = deployment_.stored->gate_up;
      out.stored = deployment_.stored->down;
    }
    return per_step(times_.time(in) + times_.time(out));
  }

  std::int64_t hidden_;
  const Deployment& deployment_;
  const Step& step_;
  const DeviceTimes& times_;
  StepRows rows_;
};

}  // namespace

StepRows step_rows(const Deployment& deployment, const Step& step) {
  const std::int64_t group = divided(step.batch, deployment.adp) * step.tokens.count;
  const std::int64_t pass = std::min(group, deployment.chunk);
  const std::int64_t all = pass * std::min(step.batch, deployment.adp);
  return {.attention = pass,
          .feed_forward = divided(all * deployment.tp_ff, deployment.stage_devices()),
          .all = all,
          .passes = static_cast<double>(group) / static_cast<double>(pass)};
}

StepTime layer_time(const LayerDescription& layer, std::int64_t hidden,
                    const Deployment& deployment, const Step& step, const DeviceTimes& times) {
  const LayerTimes of(hidden, deployment, step, times);
  StepTime time = of.attention(layer.attention);
  const StepTime feed_forward =
      std::visit([&](const auto& kind) { return of.feed_forward(kind); }, layer.feed_forward);
  time.at(StepPart::feed_forward) = feed_forward.at(StepPart::feed_forward);
  time.at(StepPart::router) = feed_forward.at(StepPart::router);
  time.at(StepPart::communication) = of.communication(layer);
  time.at(StepPart::overhead) = of.overhead(layer);
  return time;
}

}  // namespace headwise
