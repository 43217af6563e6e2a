#include "advisor/time/deployment.h"

#include <algorithm>
#include <limits>

#include "advisor/model/model_work.h"
#include "advisor/time/projections.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr double kBf16Bytes = 2.0;

bool divides(std::int64_t width, std::int64_t count) { return count % width == 0; }

std::string why_heads_cannot(const Attention& attention, std::int64_t tp) {
  if (const auto* softmax = std::get_if<SoftmaxAttention>(&attention)) {
    if (!divides(tp, softmax->q_heads))
      return concat("tp ", tp, " does not divide ", softmax->q_heads, " query heads");
    if (!divides(tp, softmax->kv_heads) && !divides(softmax->kv_heads, tp))
      return concat("tp ", tp, " and ", softmax->kv_heads, " KV heads do not divide each other");
  }
  if (const auto* latent = std::get_if<LatentAttention>(&attention))
    if (!divides(tp, latent->q_heads))
      return concat("tp ", tp, " does not divide ", latent->q_heads, " query heads");
  if (const auto* linear = std::get_if<LinearAttention>(&attention))
    if (!divides(tp, linear->k_heads))
      return concat("tp ", tp, " does not divide ", linear->k_heads, " heads of linear attention");
  return {};
}

std::string why_feed_forward_cannot(const FeedForward& feed_forward, const Deployment& deployment) {
  if (const auto* dense = std::get_if<DenseFeedForward>(&feed_forward)) {
    if (!divides(deployment.tp_ff, dense->width))
      return concat("tp_ff ", deployment.tp_ff, " does not divide a width of ", dense->width);
    return {};
  }
  const auto& moe = std::get<MixtureOfExperts>(feed_forward);
  if (!divides(deployment.ep, moe.experts))
    return concat("ep ", deployment.ep, " does not divide ", moe.experts, " experts");
  if (!divides(deployment.experts_tp(), moe.expert_width))
    return concat(deployment.experts_tp(), " devices an expert do not divide its width of ",
                  moe.expert_width);
  if (moe.shared_experts > 0 && !divides(deployment.tp_ff, moe.shared_experts * moe.shared_width))
    return concat("tp_ff ", deployment.tp_ff, " does not divide shared experts of ",
                  moe.shared_experts * moe.shared_width);
  return {};
}

struct Shard {
  std::int64_t tp;

  Attention operator()(SoftmaxAttention softmax) const {
    softmax.q_heads /= tp;
    softmax.kv_heads = std::max<std::int64_t>(1, softmax.kv_heads / tp);
    return softmax;
  }
  Attention operator()(LatentAttention latent) const {
    latent.q_heads /= tp;
    return latent;
  }
  Attention operator()(LinearAttention linear) const {
    linear.k_heads /= tp;
    linear.v_heads /= tp;
    return linear;
  }
};

double stored_bytes(const StoredFormat& format, double weights) {
  return weights * (format.bytes_per_weight + kBf16Bytes);
}

double attention_bytes(const Attention& attention, std::int64_t hidden,
                       const Deployment& deployment) {
  if (!deployment.stored)
    return static_cast<double>(attention_parameters(attention, hidden)) *
           bytes_per_weight(deployment.projections);
  double bytes = 0.0;
  for (const Product& product : attention_projections(attention, hidden, {}, deployment))
    bytes += stored_bytes(*product.stored, static_cast<double>(product.n * product.k));
  return bytes;
}

double feed_forward_bytes(const FeedForward& feed_forward, std::int64_t hidden,
                          const Deployment& deployment) {
  const double weight = bytes_per_weight(deployment.feed_forward);
  const auto gated_of = [&](std::int64_t in, std::int64_t width) {
    return 3.0 * static_cast<double>(in) * static_cast<double>(width) * weight;
  };
  const auto gated = [&](std::int64_t width) { return gated_of(hidden, width); };
  const auto tp = static_cast<double>(deployment.tp_ff);
  if (const auto* dense = std::get_if<DenseFeedForward>(&feed_forward)) {
    if (!deployment.stored) return gated(dense->width) / tp;
    const double matrix = static_cast<double>(hidden) * static_cast<double>(dense->width);
    return (stored_bytes(deployment.stored->gate_up, 2.0 * matrix) +
            stored_bytes(deployment.stored->down, matrix)) /
           tp;
  }
  const auto& moe = std::get<MixtureOfExperts>(feed_forward);
  const std::int64_t columns = moe.experts + (moe.shared_gate ? 1 : 0);
  return static_cast<double>(moe.experts) * gated_of(moe.routed_hidden(hidden), moe.expert_width) /
             static_cast<double>(deployment.stage_devices()) +
         static_cast<double>(moe.latent_parameters(hidden)) * weight +
         static_cast<double>(moe.shared_experts) * gated(moe.shared_width) / tp +
         static_cast<double>(hidden * columns) * kBf16Bytes;
}

}  // namespace

std::string why_impossible(const ModelDescription& model, const Deployment& deployment) {
  const std::int64_t stage = deployment.stage_devices();
  for (const std::int64_t width : {deployment.tp, deployment.adp, deployment.kvp, deployment.tp_ff,
                                   deployment.ep, deployment.pp, deployment.chunk})
    if (width < 1) return concat("a width of ", width);
  if (!divides(deployment.tp_ff, stage))
    return concat("tp_ff ", deployment.tp_ff, " does not divide a stage of ", stage, " devices");
  if (!divides(deployment.ep, stage))
    return concat("ep ", deployment.ep, " does not divide a stage of ", stage, " devices");
  if (deployment.pp > model.layers())
    return concat("pp ", deployment.pp, " is more than ", model.layers(), " layers");
  for (const EqualLayers& group : model.groups) {
    if (std::string why = why_heads_cannot(group.layer.attention, deployment.tp); !why.empty())
      return why;
    if (std::string why = why_feed_forward_cannot(group.layer.feed_forward, deployment);
        !why.empty())
      return why;
  }
  return {};
}

std::int64_t fewest_kv_heads(const ModelDescription& model) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const EqualLayers& group : model.groups) {
    const Attention& attention = group.layer.attention;
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&attention))
      fewest = std::min(fewest, softmax->kv_heads);
    if (std::holds_alternative<LatentAttention>(attention)) fewest = 1;
  }
  return fewest;
}

std::int64_t routed_experts(const ModelDescription& model) {
  for (const EqualLayers& group : model.groups)
    if (const auto* moe = std::get_if<MixtureOfExperts>(&group.layer.feed_forward))
      return moe->experts;
  return 0;
}

double stage_share(const ModelDescription& model, const Deployment& deployment) {
  const std::int64_t layers = (model.layers() + deployment.pp - 1) / deployment.pp;
  return static_cast<double>(layers) / static_cast<double>(model.layers());
}

Attention sharded(const Attention& attention, std::int64_t tp) {
  return std::visit(Shard{tp}, attention);
}

double weight_bytes(const ModelDescription& model, const Deployment& deployment) {
  double bytes = 0.0;
  for (const auto& [count, layer] : model.groups) {
    bytes += static_cast<double>(count) *
             (attention_bytes(sharded(layer.attention, deployment.tp), model.hidden, deployment) +
              feed_forward_bytes(layer.feed_forward, model.hidden, deployment));
  }
  const double table =
      static_cast<double>(model.vocab) * static_cast<double>(model.hidden) *
      (deployment.stored ? deployment.stored->output.bytes_per_weight : kBf16Bytes) /
      static_cast<double>(deployment.tp);
  // Embedding and output matrix lie on different stages, if there are several.
  const double tables = model.tied_embeddings || deployment.pp > 1 ? table : 2.0 * table;
  return bytes * stage_share(model, deployment) + tables;
}

}  // namespace headwise
