#include "advisor/model/kv_state.h"

#include <algorithm>

namespace headwise {
namespace {

/// One layer's bytes.
struct LayerState {
  std::int64_t per_token = 0;
  std::int64_t constant = 0;
  std::int64_t naive_per_token = 0;
  AttentionSpan span;
};

/// Of a stored row of one head.
std::int64_t row_bytes(std::int64_t dim, DType type) {
  constexpr std::int64_t kScaleBytes = 4;
  return dim * size_of(type) + (type == DType::i8 ? kScaleBytes : 0);
}

LayerState state_of(const SoftmaxAttention& softmax, DType type) {
  const std::int64_t bytes = softmax.kv_heads * (row_bytes(softmax.head_dim_qk, type) +
                                                 row_bytes(softmax.head_dim_v, type));
  return {.per_token = bytes, .naive_per_token = bytes, .span = softmax.span};
}

LayerState state_of(const LatentAttention& latent, DType type) {
  const std::int64_t index = latent.indexer ? row_bytes(latent.indexer->head_dim, type) : 0;
  return {.per_token = row_bytes(latent.stored_dim(), type) + index,
          .naive_per_token = latent.q_heads * (row_bytes(latent.head_dim_qk(), type) +
                                               row_bytes(latent.v_head_dim, type))};
}

LayerState state_of(const LinearAttention& linear, DType) {
  constexpr std::int64_t kStateBytes = 4;
  constexpr std::int64_t kConvBytes = 2;
  return {.constant = linear.v_heads * linear.k_head_dim * linear.v_head_dim * kStateBytes +
                      linear.conv_channels() * (linear.conv_kernel - 1) * kConvBytes};
}

LayerState state_of(const Attention& attention, DType type) {
  return std::visit([&](const auto& kind) { return state_of(kind, type); }, attention);
}

}  // namespace

std::int64_t kept_tokens(const AttentionSpan& span, std::int64_t context) {
  return span.kind == SpanKind::full ? context : std::min(context, span.tokens);
}

KvState kv_state(const ModelDescription& model, DType kv_type) {
  KvState state;
  std::int64_t largest_naive = 0;
  std::int64_t linear_layers = 0;
  for (const EqualLayers& group : model.groups) {
    const LayerState layer = state_of(group.layer.attention, kv_type);
    const bool is_linear = std::holds_alternative<LinearAttention>(group.layer.attention);
    const bool grows = layer.span.kind == SpanKind::full;
    (grows ? state.growing_per_token : state.windowed_per_token) += group.count * layer.per_token;
    state.constant += group.count * layer.constant;
    state.naive_per_token += group.count * layer.naive_per_token;
    largest_naive = std::max(largest_naive, layer.naive_per_token);
    if (is_linear) linear_layers += group.count;
  }
  state.naive_per_token += linear_layers * largest_naive;
  return state;
}

std::int64_t kv_bytes(const ModelDescription& model, DType kv_type, std::int64_t context) {
  std::int64_t bytes = 0;
  for (const EqualLayers& group : model.groups) {
    const LayerState layer = state_of(group.layer.attention, kv_type);
    bytes += group.count * (layer.constant + layer.per_token * kept_tokens(layer.span, context));
  }
  return bytes;
}

}  // namespace headwise
