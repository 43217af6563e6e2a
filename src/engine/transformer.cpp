#include "engine/transformer.h"

#include <algorithm>

#include "core/check.h"
#include "ops/activation.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace headwise {
namespace {

/// Columns first ... first + width - 1 of a matrix.
MutableTensorView columns(MutableTensorView matrix, std::int64_t first, std::int64_t width) {
  matrix.data = static_cast<float*>(matrix.data) + first;
  matrix.sizes[1] = width;
  return matrix;
}

/// [tokens, heads * dim] as [tokens, heads, dim].
MutableTensorView as_heads(MutableTensorView matrix, int dim) {
  matrix.rank = 3;
  matrix.sizes = {matrix.sizes[0], matrix.sizes[1] / dim, dim, 0};
  matrix.strides = {matrix.strides[0], dim, 1, 0};
  return matrix;
}

MutableTensorView last_row(MutableTensorView matrix) {
  matrix.data = static_cast<float*>(matrix.data) + (matrix.sizes[0] - 1) * matrix.strides[0];
  matrix.sizes[0] = 1;
  return matrix;
}

std::size_t elements(std::int64_t tokens, std::int64_t width) {
  return static_cast<std::size_t>(tokens * width);
}

}  // namespace

AttentionShape attention_shape(const LlamaConfig& config, DType kv_type) {
  AttentionShape shape;
  shape.q_heads = config.q_heads;
  shape.kv_heads = config.kv_heads;
  shape.head_dim_qk = config.head_dim;
  shape.head_dim_v = config.head_dim;
  shape.q_type = DType::f32;
  shape.kv_type = kv_type;
  return shape;
}

namespace {

DType kv_type_of(const KvCache& cache) {
  return cache.options().groups.front().group.shape.kv_type;
}

}  // namespace

Transformer::Transformer(const LlamaWeights& weights, KvCache& cache,
                         const AttentionOptions& options)
    : weights_(&weights),
      cache_(&cache),
      max_tokens_(options.max_tokens),
      attention_(attention_shape(weights.config, kv_type_of(cache)), cache, options),
      rope_(weights.config.head_dim, weights.config.rope_base) {
  const LlamaConfig& config = weights.config;
  const LayerGroup& group = cache.options().groups.front().group;
  check(cache.groups() == 1 && group.layers == config.layers, "the cache has ", cache.groups(),
        " groups, the first of ", group.layers, " layers; the model has ", config.layers,
        " in one");
  check(max_tokens_ > 0, "max_tokens must be above 0, is ", max_tokens_);
  residual_.resize(elements(max_tokens_, config.width));
  normed_.resize(elements(max_tokens_, config.width));
  qkv_.resize(elements(max_tokens_, (config.q_heads + 2 * config.kv_heads) * config.head_dim));
  attended_.resize(elements(max_tokens_, config.q_heads * config.head_dim));
  gate_up_.resize(elements(max_tokens_, 2 * config.ffn_width));
  logits_.resize(elements(1, config.vocab));
}

void Transformer::check_attention() {
  check_ = std::make_unique<AttentionCheck>(attention_.shape(), *cache_);
}

void Transformer::check_step(std::span<const TokenId> tokens) const {
  check(!tokens.empty() && tokens.size() <= static_cast<std::size_t>(max_tokens_),
        "a step takes 1 to ", max_tokens_, " tokens, not ", tokens.size());
  for (const TokenId token : tokens) {
    check(token >= 0 && token < weights_->config.vocab, "token ", token,
          " is outside of the vocabulary of ", weights_->config.vocab);
  }
}

Transformer::Activations Transformer::activations(std::int64_t tokens) {
  const LlamaConfig& config = weights_->config;
  const int dim = config.head_dim;
  const std::int64_t q_width = std::int64_t{config.q_heads} * dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * dim;
  const auto rows = [&](std::vector<float>& buffer, std::int64_t width) {
    return dense(buffer.data(), DType::f32, {tokens, width});
  };
  Activations a;
  a.residual = rows(residual_, config.width);
  a.normed = rows(normed_, config.width);
  a.qkv = rows(qkv_, q_width + 2 * kv_width);
  a.q = as_heads(columns(a.qkv, 0, q_width), dim);
  a.k = as_heads(columns(a.qkv, q_width, kv_width), dim);
  a.v = as_heads(columns(a.qkv, q_width + kv_width, kv_width), dim);
  a.attended = rows(attended_, q_width);
  a.gate_up = rows(gate_up_, 2 * std::int64_t{config.ffn_width});
  a.gate = columns(a.gate_up, 0, config.ffn_width);
  a.up = columns(a.gate_up, config.ffn_width, config.ffn_width);
  return a;
}

void Transformer::embed(std::span<const TokenId> tokens) {
  const std::int64_t width = weights_->config.width;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const float* row = weights_->embedding.values.data() + tokens[i] * width;
    std::copy_n(row, width, residual_.begin() + static_cast<std::int64_t>(i) * width);
  }
}

void Transformer::attend(const Activations& a, const StepBatch& step, KvStep& cache_step,
                         int layer) {
  const LlamaLayer& weights = weights_->layers[static_cast<std::size_t>(layer)];
  rms_norm(a.residual, weights.attention_norm.view(), weights_->config.rms_eps, a.normed);
  linear(a.normed, weights.qkv.view(), a.qkv);
  rope(a.q, rope_);
  rope(a.k, rope_);
  if (calibration_ != nullptr) calibration_->observe(layer, a.k, a.v);
  cache_step.append_kv(attention_.backend(), 0, layer, a.k, a.v);
  attention_.run(layer);
  if (check_) check_->compare(step, layer);
  linear(a.attended, weights.attention_output.view(), a.residual, Into::add);
}

void Transformer::feed_forward(const Activations& a, int layer) {
  const LlamaLayer& weights = weights_->layers[static_cast<std::size_t>(layer)];
  rms_norm(a.residual, weights.ffn_norm.view(), weights_->config.rms_eps, a.normed);
  linear(a.normed, weights.gate_up.view(), a.gate_up);
  silu_mul(a.gate, a.up, a.gate);
  linear(a.gate, weights.down.view(), a.residual, Into::add);
}

std::span<const float> Transformer::forward(std::span<const TokenId> tokens, SequenceId sequence,
                                            std::span<const TokenId> told) {
  check_step(tokens);
  const auto count = static_cast<std::int32_t>(tokens.size());
  const KvRequest request{.sequence = sequence, .new_tokens = count, .tokens = told};
  KvStep cache_step = cache_->begin({&request, 1});
  const Activations a = activations(count);

  StepBatch step;
  step.q = a.q;
  step.out = as_heads(a.attended, weights_->config.head_dim);
  cache_step.describe(0, step);
  attention_.begin(step);
  rope_.set_positions(cache_->length(sequence), count);

  embed(tokens);
  for (int layer = 0; layer < weights_->config.layers; ++layer) {
    attend(a, step, cache_step, layer);
    feed_forward(a, layer);
  }
  cache_step.commit();

  return logits_after(a);
}

std::span<const float> Transformer::logits_after(const Activations& a) {
  const TensorView gain = weights_->final_norm.view();
  rms_norm(last_row(a.residual), gain, weights_->config.rms_eps, last_row(a.normed));
  linear(last_row(a.normed), weights_->output_matrix().view(),
         dense(logits_.data(), DType::f32, {1, weights_->config.vocab}));
  return logits_;
}

}  // namespace headwise
