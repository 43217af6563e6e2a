#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headwise {

// What advice needs to know of a decoder-only model: shapes and counts, no weights. A description
// holds far more kinds of model than the engine runs. Counts are at least 1 unless 0 is explained.

enum class SpanKind : std::uint8_t {
  full,            ///< all tokens up to the query's own
  sliding_window,  ///< the last `tokens`, its own included
  chunked,         ///< its own chunk of `tokens`, up to its own: Llama 4
};

/// Which tokens a query sees; attention is causal.
struct AttentionSpan {
  SpanKind kind = SpanKind::full;
  std::int64_t tokens = 0;  ///< of a window or chunk; 0 for full

  friend bool operator==(const AttentionSpan&, const AttentionSpan&) = default;
};

/// Attention over stored keys and values: MHA, GQA and MQA.
struct SoftmaxAttention {
  std::int64_t q_heads = 0;   ///< a multiple of kv_heads
  std::int64_t kv_heads = 0;  ///< whose K and V are stored
  std::int64_t head_dim_qk = 0;
  std::int64_t head_dim_v = 0;
  AttentionSpan span;
  bool output_gate = false;       ///< one more projection as wide as the output: Qwen3-Next
  bool keys_give_values = false;  ///< V has no projection, but is K's, not rotated: Gemma 4

  /// Columns of K's and V's projections; what is stored is both.
  std::int64_t kv_columns() const {
    return kv_heads * (keys_give_values ? head_dim_qk : head_dim_qk + head_dim_v);
  }

  friend bool operator==(const SoftmaxAttention&, const SoftmaxAttention&) = default;
};

/// DeepSeek V3.2's lightning indexer: scores all tokens, the `top_k` best of which are attended to.
/// Stores one key a token, shared by its heads. Source: DeepSeek-V3.2-Exp technical report, 2.1.
struct SparseIndexer {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;  ///< tokens

  friend bool operator==(const SparseIndexer&, const SparseIndexer&) = default;
};

/// Multi-head latent attention (MLA). A token's stored row is its latent and one rotated key, [1,
/// kv_lora_rank + qk_rope_head_dim], of which values are a part. Source: DeepSeek-V2, 2.1.
struct LatentAttention {
  std::int64_t q_heads = 0;
  std::int64_t q_lora_rank = 0;  ///< 0: queries have a single projection
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool output_gate = false;  ///< one more projection as wide as the output: Kimi K3
  std::optional<SparseIndexer> indexer;

  std::int64_t head_dim_qk() const { return qk_nope_head_dim + qk_rope_head_dim; }
  std::int64_t stored_dim() const { return kv_lora_rank + qk_rope_head_dim; }

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// How a linear-attention layer decays its state.
enum class StateDecay : std::uint8_t {
  per_head,     ///< Gated DeltaNet, arXiv 2412.06464: Qwen3-Next
  per_channel,  ///< Kimi Delta Attention, arXiv 2510.26692: by a low-rank projection
};

/// Linear attention: a state of [value heads, k_head_dim, v_head_dim] instead of keys and values,
/// behind a short causal convolution over queries, keys and values.
struct LinearAttention {
  std::int64_t k_heads = 0;  ///< and query heads; divides v_heads
  std::int64_t v_heads = 0;
  std::int64_t k_head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t conv_kernel = 0;  ///< tokens
  StateDecay decay = StateDecay::per_head;
  bool low_rank_gate = false;  ///< the output gate's rank is v_head_dim: Kimi Linear

  /// Width of what goes through the convolution: queries, keys, values.
  std::int64_t conv_channels() const { return 2 * k_heads * k_head_dim + v_heads * v_head_dim; }

  friend bool operator==(const LinearAttention&, const LinearAttention&) = default;
};

using Attention = std::variant<SoftmaxAttention, LatentAttention, LinearAttention>;

/// Gated feed-forward: gate, up and down, three matrices of [hidden, width].
struct DenseFeedForward {
  std::int64_t width = 0;

  friend bool operator==(const DenseFeedForward&, const DenseFeedForward&) = default;
};

/// Mixture of experts, each a gated feed-forward of its own. With a `latent_width` routed experts
/// have it for the hidden width, between a projection there and one back: LatentMoE, Kimi K3.
struct MixtureOfExperts {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;           ///< experts that a token is routed to
  std::int64_t expert_width = 0;    ///< of each routed expert
  std::int64_t shared_experts = 0;  ///< that every token passes; 0: none
  std::int64_t shared_width = 0;    ///< of each; 0: none
  bool shared_gate = false;         ///< one more router column scales the shared expert: Qwen
  std::int64_t latent_width = 0;    ///< 0: routed experts work on the hidden state

  std::int64_t routed_hidden(std::int64_t hidden) const {
    return latent_width > 0 ? latent_width : hidden;
  }
  /// Of the two projections, which all devices hold.
  std::int64_t latent_parameters(std::int64_t hidden) const { return 2 * hidden * latent_width; }

  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

using FeedForward = std::variant<DenseFeedForward, MixtureOfExperts>;

struct LayerDescription {
  Attention attention;
  FeedForward feed_forward;

  friend bool operator==(const LayerDescription&, const LayerDescription&) = default;
};

/// Layers that are equal, wherever they stand.
struct EqualLayers {
  std::int64_t count = 0;
  LayerDescription layer;
};

/// A value that the model's file does not hold.
struct Assumption {
  std::string field;  ///< as the file would name it
  std::string value;
  std::string why;
};

struct ModelDescription {
  std::string model_type;  ///< as the file spells it
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t context = 0;      ///< longest sequence the model is made for, in tokens
  bool tied_embeddings = false;  ///< the output matrix is the embedding
  std::vector<EqualLayers> groups;
  std::vector<int> group_of_layer;  ///< [layers], into groups
  std::vector<Assumption> assumptions;

  std::int64_t layers() const { return static_cast<std::int64_t>(group_of_layer.size()); }
};

}  // namespace headwise
