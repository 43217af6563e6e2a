#include "advisor/model/model_work.h"

#include <algorithm>

#include "advisor/roofline.h"

namespace headwise {
namespace {

constexpr std::int64_t kGatedMatrices = 3;  // gate, up, down

std::int64_t parameters_of(const SoftmaxAttention& softmax, std::int64_t hidden) {
  const std::int64_t q = softmax.q_heads * softmax.head_dim_qk;
  const std::int64_t out = softmax.q_heads * softmax.head_dim_v;
  return hidden * (q + softmax.kv_columns() + out + (softmax.output_gate ? out : 0));
}

/// Its queries come from MLA's query latent, its key and the heads' weights from the hidden state.
std::int64_t parameters_of(const SparseIndexer& indexer, std::int64_t query_width,
                           std::int64_t hidden) {
  return query_width * indexer.heads * indexer.head_dim +
         hidden * (indexer.head_dim + indexer.heads);
}

std::int64_t expansion_parameters(const LatentAttention& latent) {
  return latent.kv_lora_rank * latent.q_heads * (latent.qk_nope_head_dim + latent.v_head_dim);
}

std::int64_t parameters_of(const LatentAttention& latent, std::int64_t hidden) {
  const std::int64_t query_width = latent.q_lora_rank > 0 ? latent.q_lora_rank : hidden;
  const std::int64_t q =
      hidden * latent.q_lora_rank + query_width * latent.q_heads * latent.head_dim_qk();
  const std::int64_t kv = hidden * latent.stored_dim() + expansion_parameters(latent);
  const std::int64_t out =
      (latent.output_gate ? 2 : 1) * latent.q_heads * latent.v_head_dim * hidden;
  const std::int64_t index =
      latent.indexer ? parameters_of(*latent.indexer, query_width, hidden) : 0;
  return q + kv + out + index;
}

std::int64_t parameters_of(const LinearAttention& linear, std::int64_t hidden) {
  const std::int64_t keys = linear.k_heads * linear.k_head_dim;
  const std::int64_t values = linear.v_heads * linear.v_head_dim;
  const std::int64_t conv = linear.conv_channels() * linear.conv_kernel;
  const std::int64_t rank = linear.v_head_dim;
  const std::int64_t step_size = hidden * linear.v_heads;
  const std::int64_t gate = linear.low_rank_gate ? rank * (hidden + values) : hidden * values;
  const std::int64_t decay =
      linear.decay == StateDecay::per_head ? hidden * linear.v_heads : rank * (hidden + keys);
  return hidden * (linear.conv_channels() + values) + conv + step_size + gate + decay;
}

struct LayerParameters {
  std::int64_t all = 0;
  std::int64_t active = 0;
  std::int64_t router = 0;
};

LayerParameters parameters_of(const DenseFeedForward& dense, std::int64_t hidden) {
  const std::int64_t all = kGatedMatrices * hidden * dense.width;
  return {.all = all, .active = all};
}

LayerParameters parameters_of(const MixtureOfExperts& moe, std::int64_t hidden) {
  const std::int64_t expert = kGatedMatrices * moe.routed_hidden(hidden) * moe.expert_width;
  const std::int64_t shared = kGatedMatrices * hidden * moe.shared_width * moe.shared_experts +
                              moe.latent_parameters(hidden);
  return {.all = moe.experts * expert + shared,
          .active = moe.top_k * expert + shared,
          .router = hidden * (moe.experts + (moe.shared_gate ? 1 : 0))};
}

double flops_a_pair(std::int64_t q_heads, std::int64_t qk_and_v) {
  return 2.0 * static_cast<double>(q_heads) * static_cast<double>(qk_and_v);
}

double core_flops(const SoftmaxAttention& softmax, const NewTokens& tokens, LatentForm) {
  return flops_a_pair(softmax.q_heads, softmax.head_dim_qk + softmax.head_dim_v) *
         static_cast<double>(attention_pairs(softmax.span, tokens));
}

double core_flops(const LatentAttention& latent, const NewTokens& tokens, LatentForm form) {
  const std::int64_t dims = form == LatentForm::absorbed ? latent.stored_dim() + latent.kv_lora_rank
                                                         : latent.head_dim_qk() + latent.v_head_dim;
  const double pair = flops_a_pair(latent.q_heads, dims);
  const auto causal = static_cast<double>(attention_pairs({}, tokens));
  if (!latent.indexer) return pair * causal;
  const SparseIndexer& indexer = *latent.indexer;
  const AttentionSpan picked{SpanKind::sliding_window, indexer.top_k};  // as many as in a window
  return flops_a_pair(indexer.heads, indexer.head_dim) * causal +
         pair * static_cast<double>(attention_pairs(picked, tokens));
}

double core_flops(const LinearAttention& linear, const NewTokens& tokens, LatentForm) {
  const std::int64_t state = linear.v_heads * linear.k_head_dim * linear.v_head_dim;
  return 6.0 * static_cast<double>(state) * static_cast<double>(tokens.count);
}

/// Of the first `tokens` tokens.
std::int64_t chunked_pairs(std::int64_t chunk, std::int64_t tokens) {
  const std::int64_t rest = tokens % chunk;
  return tokens / chunk * (chunk * (chunk + 1) / 2) + rest * (rest + 1) / 2;
}

}  // namespace

std::int64_t attention_parameters(const Attention& attention, std::int64_t hidden) {
  return std::visit([&](const auto& kind) { return parameters_of(kind, hidden); }, attention);
}

ModelParameters count_parameters(const ModelDescription& model) {
  ModelParameters parameters;
  ParameterCounts& all = parameters.all;
  std::int64_t active_feed_forward = 0;
  for (const auto& [count, layer] : model.groups) {
    const LayerParameters feed_forward = std::visit(
        [&](const auto& kind) { return parameters_of(kind, model.hidden); }, layer.feed_forward);
    all.attention += count * attention_parameters(layer.attention, model.hidden);
    all.feed_forward += count * feed_forward.all;
    all.router += count * feed_forward.router;
    active_feed_forward += count * feed_forward.active;
  }
  all.embedding = model.vocab * model.hidden;
  all.head = model.tied_embeddings ? 0 : model.vocab * model.hidden;
  parameters.active = all;
  parameters.active.feed_forward = active_feed_forward;
  return parameters;
}

std::int64_t attention_pairs(const AttentionSpan& span, const NewTokens& tokens) {
  const std::int64_t end = tokens.prefix + tokens.count;
  if (span.kind == SpanKind::chunked) {
    return chunked_pairs(span.tokens, end) - chunked_pairs(span.tokens, tokens.prefix);
  }
  AttentionShape shape;
  if (span.kind == SpanKind::sliding_window) shape.window_left = span.tokens - 1;
  return visible_pairs(shape, {.q_len = tokens.count, .kv_len = end, .q_start = {}});
}

double core_attention_flops(const Attention& attention, const NewTokens& tokens, LatentForm form) {
  return std::visit([&](const auto& kind) { return core_flops(kind, tokens, form); }, attention);
}

double core_attention_flops(const ModelDescription& model, const NewTokens& tokens,
                            LatentForm form) {
  double flops = 0.0;
  for (const auto& [count, layer] : model.groups) {
    flops += static_cast<double>(count) * core_attention_flops(layer.attention, tokens, form);
  }
  return flops;
}

const EqualLayers& heaviest_attention(const ModelDescription& model) {
  const NewTokens all{.prefix = 0, .count = model.context};
  return *std::ranges::max_element(model.groups, {}, [&](const EqualLayers& group) {
    return static_cast<double>(group.count) *
           core_attention_flops(group.layer.attention, all, LatentForm::expanded);
  });
}

double linear_flops(const ModelDescription& model, std::int64_t tokens) {
  return 2.0 * static_cast<double>(count_parameters(model).active.in_layers()) *
         static_cast<double>(tokens);
}

double head_flops(const ModelDescription& model, std::int64_t tokens) {
  return 2.0 * static_cast<double>(model.vocab * model.hidden) * static_cast<double>(tokens);
}

double latent_expansion_flops(const ModelDescription& model, std::int64_t prefix) {
  std::int64_t parameters = 0;
  for (const auto& [count, layer] : model.groups) {
    if (const auto* latent = std::get_if<LatentAttention>(&layer.attention)) {
      parameters += count * expansion_parameters(*latent);
    }
  }
  return 2.0 * static_cast<double>(parameters) * static_cast<double>(prefix);
}

}  // namespace headwise
