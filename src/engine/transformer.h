#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/attention_check.h"
#include "engine/layer_groups.h"
#include "engine/model_weights.h"
#include "engine/step_attention.h"
#include "engine/step_buffers.h"
#include "headwise/kv_cache.h"
#include "headwise/kv_calibration.h"
#include "model/tokenizer/token_merges.h"
#include "ops/rope.h"

namespace headwise {

/// What a model's products took so far, in seconds, by matrix.
struct ProductSeconds {
  double qkv = 0.0, attention_output = 0.0, gate_up = 0.0, down = 0.0;
  double output = 0.0;  ///< with the last norm and the search for the likeliest token
};

/// The type of q in this engine's attention.
inline DType q_type_of(Maths maths) { return maths == Maths::bf16 ? DType::bf16 : DType::f32; }

/// The forward pass of a decoder-only model (model_config.h) on the CPU, one sequence a step.
/// Sources: Touvron et al. 2023, section 2.2 (pre-normalisation, gated feed-forward, rotary
/// positions); Gemma Team 2025, section 2 (local and global layers, norms of q and k and behind
/// attention and feed-forward). Not for several threads at once.
class Transformer {
 public:
  /// The weights and the cache, on the CPU with the model's layer_groups(), must outlive it.
  /// options.max_tokens bounds a step and sizes the buffers. Throws Error(invalid_input).
  Transformer(ModelWeights& weights, KvCache& cache, const AttentionOptions& options);

  /// Runs `tokens`, which follow what the sequence holds, and appends them to it. `told`: all of
  /// the sequence's tokens, these included, so that the cache may find them again; it may be empty.
  /// Returns the logits, [vocab], of the token after the last one; valid until the next call.
  /// Throws Error where a token is outside of the vocabulary, there are none or too many, or pages
  /// run out; the sequence's length has not changed then.
  std::span<const float> forward(std::span<const TokenId> tokens, SequenceId sequence,
                                 std::span<const TokenId> told = {});

  /// The same, but for the likeliest of the first `among` tokens of the vocabulary to follow, the
  /// first among equals. Throws Error, too, where a logit is NaN; the step is done then.
  TokenId forward_to_likeliest(std::span<const TokenId> tokens, SequenceId sequence,
                               std::span<const TokenId> told, std::int64_t among);

  /// The same without logits: for tokens whose followers are known.
  void extend(std::span<const TokenId> tokens, SequenceId sequence,
              std::span<const TokenId> told = {}) {
    run_layers(tokens, sequence, told);
  }

  /// The same, with the logits of the token after each of `tokens`, in order, to `row`.
  void forward_each(
      std::span<const TokenId> tokens, SequenceId sequence,
      const std::function<void(std::int64_t index, std::span<const float> logits)>& row);

  /// From here on, K and V of every layer are shown to the calibration of its group; they must
  /// outlive it.
  void observe(std::span<KvCalibration> by_group) { calibrations_ = by_group; }

  /// From here on, sampled rows of every step's attention are compared with `reference`.
  void check_attention();
  std::span<const AttentionCheck> attention_checks() const { return checks_; }  ///< by group

  /// Chooses the backends of a phase, and says so, if that has not been done.
  void prepare(Phase phase);
  std::span<const StepAttention> attention() const { return attention_; }  ///< by group
  double attention_seconds() const;  ///< spent in attention so far
  const ProductSeconds& product_seconds() const { return product_seconds_; }
  std::int32_t max_tokens() const { return max_tokens_; }
  std::int64_t vocab_size() const { return weights_->config.vocab; }

 private:
  void check_step(std::span<const TokenId> tokens) const;
  Activations run_layers(std::span<const TokenId> tokens, SequenceId sequence,
                         std::span<const TokenId> told);
  void begin_attention(const Activations& a, const KvStep& cache_step);
  void embed(std::span<const TokenId> tokens, const Activations& a);
  void attend(const Activations& a, KvStep& cache_step, int layer);
  void project_qkv(const Activations& a, LayerWeights& weights, int group);
  void feed_forward(const Activations& a, LayerWeights& weights);
  void add_product(const TensorView& x, WeightMatrix& w, const std::vector<float>& post_norm,
                   const Activations& a, double& seconds);
  MutableTensorView final_norm(const Activations& a, std::int64_t first, std::int64_t count) const;
  std::span<const float> logits_of(const Activations& a, std::int64_t first, std::int64_t count);

  ModelWeights* weights_;
  KvCache* cache_;
  std::int32_t max_tokens_;
  std::vector<LayerPlace> places_;        // by layer
  std::vector<StepAttention> attention_;  // by group
  std::vector<StepBatch> steps_;          // by group
  std::vector<AttentionCheck> checks_;    // by group; empty where nothing is checked
  std::vector<RopeTable> ropes_;          // by group
  std::span<KvCalibration> calibrations_;
  StepBuffers buffers_;
  ProductSeconds product_seconds_;
  int likeliest_tokens_ = 0;   // that forward_to_likeliest() has returned
  std::vector<float> logits_;  // [rows that are wanted together, vocab]
};

}  // namespace headwise
