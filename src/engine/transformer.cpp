#include "engine/transformer.h"

#include <algorithm>

#include "core/check.h"
#include "core/timed.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/sampling.h"

namespace headwise {
namespace {

constexpr std::int64_t kLogitRows = 32;  // whose logits forward_each() computes together

TensorView as_row(const std::vector<float>& values) {
  return dense(values.data(), DType::f32, {1, std::ssize(values)});
}

/// Whether the cache is made for the model's layers and these types.
bool fits(const KvCache& cache, const ModelConfig& config, DType q_type) {
  const DType kv_type = cache.options().groups.front().group.shape.kv_type;
  const std::vector<LayerGroup> wanted = layer_groups(config, q_type, kv_type);
  return std::ranges::equal(
      cache.options().groups, wanted, [](const KvGroupOptions& has, const LayerGroup& wants) {
        return has.group.layers == wants.layers && has.group.shape == wants.shape;
      });
}

}  // namespace

Transformer::Transformer(ModelWeights& weights, KvCache& cache, const AttentionOptions& options)
    : weights_(&weights),
      cache_(&cache),
      max_tokens_(options.max_tokens),
      places_(layer_places(weights.config)),
      steps_(weights.config.kinds.size()),
      buffers_(weights.config, options.max_tokens) {
  const ModelConfig& config = weights.config;
  check(fits(cache, config, q_type_of(weights.maths)),
        "the cache is not made for the layer groups of this model");
  check(max_tokens_ > 0, "max_tokens must be above 0, is ", max_tokens_);
  for (int group = 0; group < cache.groups(); ++group) {
    const RopeConfig& rope = config.kinds[static_cast<std::size_t>(group)].rope;
    attention_.emplace_back(cache, group, layer_list(config, group), options);
    ropes_.emplace_back(rope.frequencies, rope.magnitude);
  }
}

void Transformer::check_attention() {
  for (int group = 0; group < cache_->groups(); ++group) checks_.emplace_back(*cache_, group);
}

void Transformer::prepare(Phase phase) {
  for (StepAttention& attention : attention_) attention.prepare(phase);
}

double Transformer::attention_seconds() const {
  double seconds = 0.0;
  for (const StepAttention& attention : attention_) seconds += attention.seconds();
  return seconds;
}

void Transformer::check_step(std::span<const TokenId> tokens) const {
  check(!tokens.empty() && tokens.size() <= static_cast<std::size_t>(max_tokens_),
        "a step takes 1 to ", max_tokens_, " tokens, not ", tokens.size());
  for (const TokenId token : tokens) {
    check(token >= 0 && token < weights_->config.vocab, "token ", token,
          " is outside of the vocabulary of ", weights_->config.vocab);
  }
}

void Transformer::embed(std::span<const TokenId> tokens, const Activations& a) {
  const float scale = weights_->config.embedding_scale;
  const std::int64_t width = weights_->config.width;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto* row = static_cast<float*>(a.residual.data) + static_cast<std::int64_t>(i) * width;
    weights_->embedding.row(tokens[i], row);
    if (scale != 1.0F) std::for_each_n(row, width, [scale](float& x) { x *= scale; });
  }
}

/// residual += post_norm(x w^T).
void Transformer::add_product(const TensorView& x, WeightMatrix& w,
                              const std::vector<float>& post_norm, const Activations& a,
                              double& seconds) {
  {
    const Timed timed(seconds);
    if (post_norm.empty()) return w.multiply(x, a.residual, Into::add);
    w.multiply(x, a.normed);
  }
  rms_norm(a.normed, as_row(post_norm), weights_->config.rms_eps, a.normed);
  add(a.normed, a.residual);
}

/// q, k and v of the normed activations, turned to their positions.
void Transformer::project_qkv(const Activations& a, LayerWeights& weights, int group) {
  const ModelConfig& config = weights_->config;
  {
    const Timed timed(product_seconds_.qkv);
    weights.qkv.multiply(a.normed, a.qkv);
  }
  if (config.qkv_bias) add(as_row(weights.qkv_bias), a.qkv);
  if (config.qk_norm) {
    rms_norm_heads(a.q, as_row(weights.q_norm), config.rms_eps);
    rms_norm_heads(a.k, as_row(weights.k_norm), config.rms_eps);
  }
  const RopeTable& rope = ropes_[static_cast<std::size_t>(group)];
  const auto turn = config.rope_pairs == RopePairs::halves ? rope_halves : rope_neighbours;
  turn(a.q, rope);
  turn(a.k, rope);
  if (weights_->maths == Maths::bf16) round_heads(a.q, a.q_rounded);
}

void Transformer::attend(const Activations& a, KvStep& cache_step, int layer) {
  LayerWeights& weights = weights_->layers[static_cast<std::size_t>(layer)];
  const auto [group, index] = places_[static_cast<std::size_t>(layer)];
  const auto of_group = static_cast<std::size_t>(group);
  rms_norm(a.residual, as_row(weights.attention_norm), weights_->config.rms_eps, a.normed);
  project_qkv(a, weights, group);
  if (!calibrations_.empty()) calibrations_[of_group].observe(index, a.k, a.v);
  StepAttention& attention = attention_[of_group];
  cache_step.append_kv(attention.backend(), group, index, a.k, a.v);
  attention.run(index);
  if (!checks_.empty()) checks_[of_group].compare(steps_[of_group], index);
  add_product(a.attended, weights.attention_output, weights.post_attention_norm, a,
              product_seconds_.attention_output);
}

void Transformer::feed_forward(const Activations& a, LayerWeights& weights) {
  const ModelConfig& config = weights_->config;
  rms_norm(a.residual, as_row(weights.ffn_norm), config.rms_eps, a.normed);
  {
    const Timed timed(product_seconds_.gate_up);
    weights.gate_up.multiply(a.normed, a.gate_up);
  }
  const auto gated = config.activation == Activation::silu ? silu_mul : gelu_mul;
  gated(a.gate, a.up, a.gate);
  add_product(a.gate, weights.down, weights.post_ffn_norm, a, product_seconds_.down);
}

void Transformer::begin_attention(const Activations& a, const KvStep& cache_step) {
  const std::int32_t position = cache_step.kv_lens()[0] - cache_step.q_lens()[0];
  for (std::size_t group = 0; group < steps_.size(); ++group) {
    StepBatch& step = steps_[group];
    step.q = weights_->maths == Maths::bf16 ? a.q_rounded : a.q;
    step.out = as_heads(a.attended, weights_->config.head_dim);
    cache_step.describe(static_cast<int>(group), step);
    attention_[group].begin(step);
    ropes_[group].set_positions(position, cache_step.q_lens()[0]);
  }
}

/// Leaves the residual stream behind the last layer.
Activations Transformer::run_layers(std::span<const TokenId> tokens, SequenceId sequence,
                                    std::span<const TokenId> told) {
  check_step(tokens);
  const auto count = static_cast<std::int32_t>(tokens.size());
  const KvRequest request{.sequence = sequence, .new_tokens = count, .tokens = told};
  KvStep cache_step = cache_->begin({&request, 1});
  const Activations a = buffers_.of(count);
  begin_attention(a, cache_step);
  embed(tokens, a);
  for (int layer = 0; layer < weights_->config.layers; ++layer) {
    attend(a, cache_step, layer);
    feed_forward(a, weights_->layers[static_cast<std::size_t>(layer)]);
  }
  cache_step.commit();
  return a;
}

/// Rows first ... first + count - 1 of a step, as the output matrix takes them.
MutableTensorView Transformer::final_norm(const Activations& a, std::int64_t first,
                                          std::int64_t count) const {
  const MutableTensorView normed = row_range(a.normed, first, count);
  rms_norm(row_range(a.residual, first, count), as_row(weights_->final_norm),
           weights_->config.rms_eps, normed);
  return normed;
}

/// Of rows first ... first + count - 1 of a step, [count, vocab].
std::span<const float> Transformer::logits_of(const Activations& a, std::int64_t first,
                                              std::int64_t count) {
  const std::int64_t vocab = weights_->config.vocab;
  logits_.resize(static_cast<std::size_t>(count * vocab));
  const MutableTensorView normed = final_norm(a, first, count);
  weights_->output_matrix().multiply(normed, dense(logits_.data(), DType::f32, {count, vocab}));
  return logits_;
}

std::span<const float> Transformer::forward(std::span<const TokenId> tokens, SequenceId sequence,
                                            std::span<const TokenId> told) {
  const Activations a = run_layers(tokens, sequence, told);
  const Timed timed(product_seconds_.output);
  return logits_of(a, std::ssize(tokens) - 1, 1);
}

TokenId Transformer::forward_to_likeliest(std::span<const TokenId> tokens, SequenceId sequence,
                                          std::span<const TokenId> told, std::int64_t among) {
  const Activations a = run_layers(tokens, sequence, told);
  const Timed timed(product_seconds_.output);
  const std::int64_t last = std::ssize(tokens) - 1;
  WeightMatrix& output = weights_->output_matrix();
  // A copy that makes each token cheaper is made when tokens without it have cost as much.
  constexpr int kTokensOfACopy = 64;
  if (likeliest_tokens_ < kTokensOfACopy || !output.finds_largest_row()) {
    ++likeliest_tokens_;
    return argmax(logits_of(a, last, 1).first(static_cast<std::size_t>(among)));
  }
  return output.largest_row(final_norm(a, last, 1), among);
}

void Transformer::forward_each(
    std::span<const TokenId> tokens, SequenceId sequence,
    const std::function<void(std::int64_t index, std::span<const float> logits)>& row) {
  weights_->output_matrix().prepare();
  const Activations a = run_layers(tokens, sequence, {});
  const auto vocab = static_cast<std::size_t>(weights_->config.vocab);
  for (std::int64_t first = 0; first < std::ssize(tokens); first += kLogitRows) {
    const std::int64_t count = std::min<std::int64_t>(std::ssize(tokens) - first, kLogitRows);
    const std::span<const float> logits = logits_of(a, first, count);
    for (std::int64_t i = 0; i < count; ++i)
      row(first + i, logits.subspan(static_cast<std::size_t>(i) * vocab, vocab));
  }
}

}  // namespace headwise
