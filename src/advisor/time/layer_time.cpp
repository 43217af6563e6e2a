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
        passes_(step_passes(deployment, step)) {}

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
    estimate = passes_.add_up([&](const StepRows& rows) {
      return times_.time(Experts{.tokens = rows.all,
                                 .hidden = moe.routed_hidden(hidden_),
                                 .width = moe.expert_width,
                                 .experts = moe.experts,
                                 .top_k = moe.top_k,
                                 .tp = deployment_.experts_tp(),
                                 .ep = deployment_.ep,
                                 .weights = deployment_.feed_forward,
                                 .routing = deployment_.routing});
    });
    if (moe.latent_width > 0) estimate += latent(moe.latent_width);
    if (moe.shared_experts > 0) {
      const Estimate shared = gated(moe.shared_experts * moe.shared_width);
      const bool beside = deployment_.shared_beside_routed && step_.is_decode();
      estimate = beside ? larger(estimate, shared) : shared + estimate;
    }
    const std::int64_t columns = moe.experts + (moe.shared_gate ? 1 : 0);
    time.at(StepPart::router) = passes_.add_up([&](const StepRows& rows) {
      return times_.time(Product{.m = rows.feed_forward, .n = columns, .k = hidden_});
    });
    return time;
  }

  Estimate communication(const LayerDescription& layer) const {
    return passes_.add_up([&](const StepRows& rows) {
      Estimate estimate;
      for (const Exchange& exchange : layer_exchanges(layer, hidden_, deployment_, step_, rows))
        estimate += times_.time(exchange);
      return estimate;
    });
  }

  /// Two norms with their residuals, positions, the feed-forward's activation: each reads and
  /// writes bf16 once.
  Estimate overhead(const LayerDescription& layer) const {
    const auto* dense = std::get_if<DenseFeedForward>(&layer.feed_forward);
    const std::int64_t width = dense != nullptr ? dense->width / deployment_.tp_ff : 0;
    std::int64_t projected = 0;
    for (const Product& product : products(LatentForm::absorbed, layer.attention, passes_.rows))
      projected += product.n;
    const auto row = static_cast<double>(8 * hidden_ + 2 * projected + 3 * width);
    return passes_.add_up([&](const StepRows& rows) {
      const std::int64_t own = projected_rows(rows);
      return times_.time(Pass{.rows = own,
                              .hidden = hidden_,
                              .projected = projected,
                              .feed_forward = width,
                              .bytes = kBf16Bytes * row * static_cast<double>(own),
                              .kernels = 4});
    });
  }

 private:
  /// Picked tokens differ from query to query: no expanded keys are shared.
  bool is_sparse(const LatentAttention& latent) const {
    return latent.indexer && step_.tokens.prefix + step_.tokens.count > latent.indexer->top_k;
  }

  /// Prefill splits rows of a request over kvp; decode has each of them on all of kvp.
  std::int64_t projected_rows(const StepRows& pass) const {
    return step_.is_decode() ? pass.attention : divided(pass.attention, deployment_.kvp);
  }

  std::vector<Product> products(LatentForm form, const Attention& attention,
                                const StepRows& pass) const {
    ProjectionRows rows{.tokens = projected_rows(pass), .expanded = projected_rows(pass)};
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
    time.at(StepPart::projections) = passes_.add_up([&](const StepRows& rows) {
      Estimate estimate;
      for (const Product& product : products(form, attention, rows))
        estimate += times_.time(product);
      return estimate;
    });
    return time;
  }

  /// From the hidden state to routed experts' width and back.
  Estimate latent(std::int64_t width) const {
    return passes_.add_up([&](const StepRows& rows) {
      const Product down{
          .m = rows.feed_forward, .n = width, .k = hidden_, .weights = deployment_.feed_forward};
      Product up = down;
      std::swap(up.n, up.k);
      return times_.time(down) + times_.time(up);
    });
  }

  Estimate gated(std::int64_t width) const {
    const std::int64_t own = divided(width, deployment_.tp_ff);
    return passes_.add_up([&](const StepRows& rows) {
      Product in{
          .m = rows.feed_forward, .n = 2 * own, .k = hidden_, .weights = deployment_.feed_forward};
      Product out = in;
      out.n = hidden_;
      out.k = own;
      if (deployment_.stored) {
        in.stored = deployment_.stored->gate_up;
        out.stored = deployment_.stored->down;
      }
      return times_.time(in) + times_.time(out);
    });
  }

  std::int64_t hidden_;
  const Deployment& deployment_;
  const Step& step_;
  const DeviceTimes& times_;
  StepPasses passes_;
};

}  // namespace

StepPasses step_passes(const Deployment& deployment, const Step& step) {
  const std::int64_t group = divided(step.batch, deployment.adp) * step.tokens.count;
  const std::int64_t chunk = std::min(group, deployment.chunk);
  const auto rows_of = [&](std::int64_t pass) {
    const std::int64_t all = pass * std::min(step.batch, deployment.adp);
    return StepRows{.attention = pass,
                    .feed_forward = divided(all * deployment.tp_ff, deployment.stage_devices()),
                    .all = all};
  };
  StepPasses passes{.rows = rows_of(chunk), .whole = static_cast<double>(group / chunk)};
  if (const std::int64_t rest = group % chunk; rest > 0) passes.rest = rows_of(rest);
  return passes;
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
