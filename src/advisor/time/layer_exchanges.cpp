#include "advisor/time/layer_exchanges.h"

#include <algorithm>

#include "advisor/model/kv_state.h"

namespace headwise {
namespace {

constexpr double kBf16Bytes = 2.0;
using Kind = Exchange::Kind;

double activations(std::int64_t rows, std::int64_t width) {
  return kBf16Bytes * static_cast<double>(rows) * static_cast<double>(width);
}

/// Width of a token's results on one device, before the output projection.
struct ResultWidth {
  std::int64_t operator()(const SoftmaxAttention& softmax) const {
    return softmax.q_heads * softmax.head_dim_v;
  }
  std::int64_t operator()(const LatentAttention& latent) const {
    return latent.q_heads * latent.kv_lora_rank;  // absorbed: of latents
  }
  std::int64_t operator()(const LinearAttention&) const { return 0; }
};

/// Of a token's keys and values on one device.
struct KeyWidth {
  std::int64_t operator()(const SoftmaxAttention& softmax) const {
    return softmax.kv_heads * (softmax.head_dim_qk + softmax.head_dim_v);
  }
  std::int64_t operator()(const LatentAttention& latent) const { return latent.stored_dim(); }
  std::int64_t operator()(const LinearAttention&) const { return 0; }
};

void add_attention(const Attention& attention, std::int64_t hidden, const Deployment& deployment,
                   const Step& step, const StepRows& rows, std::vector<Exchange>& exchanges) {
  const Attention own = sharded(attention, deployment.tp);
  if (deployment.kvp > 1) {
    if (step.is_decode())
      exchanges.push_back({.kind = Kind::all_to_all,
                           .bytes = activations(rows.attention, std::visit(ResultWidth{}, own)),
                           .devices = deployment.kvp});
    else
      exchanges.push_back({.kind = Kind::all_gather,
                           .bytes = activations(rows.attention, std::visit(KeyWidth{}, own)),
                           .devices = deployment.kvp});
  }
  const std::int64_t summed = deployment.tp * (step.is_decode() ? deployment.kvp : 1);
  if (summed > 1)
    exchanges.push_back({.kind = Kind::all_reduce,
                         .bytes = activations(rows.attention, hidden),
                         .devices = summed});
}

void add_dense(std::int64_t hidden, const Deployment& deployment, const StepRows& rows,
               std::vector<Exchange>& exchanges) {
  const double bytes = activations(rows.feed_forward, hidden);
  const std::int64_t gathered = deployment.tp_ff / (deployment.tp * deployment.kvp);
  if (gathered > 1)
    exchanges.push_back({.kind = Kind::all_gather, .bytes = bytes, .devices = gathered});
  if (deployment.tp_ff > 1)
    exchanges.push_back({.kind = Kind::all_reduce, .bytes = bytes, .devices = deployment.tp_ff});
}

void add_experts(const MixtureOfExperts& moe, std::int64_t hidden, const Deployment& deployment,
                 const StepRows& rows, std::vector<Exchange>& exchanges) {
  const bool apart = deployment.adp > 1 || moe.latent_width > 0;  // sums of routed and of shared
  if (moe.shared_experts > 0 && apart) add_dense(hidden, deployment, rows, exchanges);
  const std::int64_t width = moe.routed_hidden(hidden);
  if (deployment.adp == 1) {
    exchanges.push_back({.kind = Kind::all_reduce,
                         .bytes = activations(rows.all, width),
                         .devices = deployment.stage_devices()});
    return;
  }
  const std::int64_t own = std::max<std::int64_t>(1, rows.all / deployment.stage_devices());
  const double back =
      activations(own, width) *
      static_cast<double>(std::min(moe.top_k, deployment.ep) * deployment.experts_tp());
  const double there = deployment.feed_forward == WeightFormat::bf16 ? back : back / 2.0;
  for (const double bytes : {there, back})
    exchanges.push_back(
        {.kind = Kind::all_to_all, .bytes = bytes, .devices = deployment.stage_devices()});
}

}  // namespace

std::vector<Exchange> layer_exchanges(const LayerDescription& layer, std::int64_t hidden,
                                      const Deployment& deployment, const Step& step,
                                      const StepRows& rows) {
  std::vector<Exchange> exchanges;
  add_attention(layer.attention, hidden, deployment, step, rows, exchanges);
  if (const auto* moe = std::get_if<MixtureOfExperts>(&layer.feed_forward))
    add_experts(*moe, hidden, deployment, rows, exchanges);
  else
    add_dense(hidden, deployment, rows, exchanges);
  std::erase_if(exchanges, [](const Exchange& exchange) { return exchange.devices <= 1; });
  return exchanges;
}

}  // namespace headwise
