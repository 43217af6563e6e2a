#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/attention_check.h"
#include "engine/llama_weights.h"
#include "engine/step_attention.h"
#include "headwise/kv_cache.h"
#include "headwise/kv_calibration.h"
#include "model/tokenizer.h"
#include "ops/rope.h"

namespace headwise {

/// The shape that a Llama layer's attention has in this engine: f32 q and out, causal.
AttentionShape attention_shape(const LlamaConfig& config, DType kv_type = DType::f32);

/// The forward pass of a Llama model in f32 on the CPU, one sequence a step. Source: Touvron et
/// al. 2023, section 2.2 (pre-normalisation, SwiGLU, rotary positions). Not for several threads at
/// once.
class Transformer {
 public:
  /// The weights and the cache, one group of the model's layers on the CPU, must outlive it.
  /// options.max_tokens bounds a step and sizes the buffers. Throws Error(invalid_input).
  Transformer(const LlamaWeights& weights, KvCache& cache, const AttentionOptions& options);

  /// Runs `tokens`, which follow what the sequence holds, and appends them to it. `told`: all of
  /// the sequence's tokens, these included, so that the cache may find them again; it may be empty.
  /// Returns the logits, [vocab], of the token after the last one; valid until the next call.
  /// Throws Error where a token is outside of the vocabulary, there are none or too many, or pages
  /// run out; the sequence's length has not changed then.
  std::span<const float> forward(std::span<const TokenId> tokens, SequenceId sequence,
                                 std::span<const TokenId> told = {});

  /// From here on, K and V of every layer are shown to `calibration`, which must outlive it.
  void observe(KvCalibration* calibration) { calibration_ = calibration; }

  /// From here on, sampled rows of every step's attention are compared with `reference`.
  void check_attention();
  const AttentionCheck* attention_check() const { return check_.get(); }

  StepAttention& attention() { return attention_; }
  const StepAttention& attention() const { return attention_; }
  std::int32_t max_tokens() const { return max_tokens_; }

 private:
  /// A step's activations: views into the buffers, cut to its tokens.
  struct Activations {
    MutableTensorView residual;  ///< [tokens, width]
    MutableTensorView normed;    ///< [tokens, width]
    MutableTensorView qkv;       ///< [tokens, (q_heads + 2 kv_heads) head_dim]
    MutableTensorView q, k, v;   ///< of qkv: [tokens, heads, head_dim]
    MutableTensorView attended;  ///< [tokens, q_heads head_dim]
    MutableTensorView gate_up;   ///< [tokens, 2 ffn_width]
    MutableTensorView gate, up;  ///< of gate_up: [tokens, ffn_width]
  };

  void check_step(std::span<const TokenId> tokens) const;
  Activations activations(std::int64_t tokens);
  void embed(std::span<const TokenId> tokens);
  void attend(const Activations& a, const StepBatch& step, KvStep& cache_step, int layer);
  void feed_forward(const Activations& a, int layer);
  std::span<const float> logits_after(const Activations& a);

  const LlamaWeights* weights_;
  KvCache* cache_;
  std::int32_t max_tokens_;
  StepAttention attention_;
  std::unique_ptr<AttentionCheck> check_;
  KvCalibration* calibration_ = nullptr;
  RopeTable rope_;
  std::vector<float> residual_, normed_, qkv_, attended_, gate_up_;  // [max_tokens, ...]
  std::vector<float> logits_;                                        // [vocab]
};

}  // namespace headwise
