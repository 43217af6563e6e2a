#pragma once

#include <cstdint>

#include "advisor/model/model_description.h"

namespace headwise {

/// Weights of matrices and short convolutions; norms, biases and decays are left out: below a
/// thousandth of any model.
struct ParameterCounts {
  std::int64_t attention = 0;     ///< projections, gates, an indexer's, convolutions
  std::int64_t feed_forward = 0;  ///< dense ones and experts
  std::int64_t router = 0;        ///< of experts
  std::int64_t embedding = 0;     ///< a table: a token takes one row
  std::int64_t head = 0;          ///< the output matrix; 0 where it is the embedding

  /// What each token is multiplied by.
  std::int64_t in_layers() const { return attention + feed_forward + router; }
  std::int64_t total() const { return in_layers() + embedding + head; }
};

struct ModelParameters {
  ParameterCounts all;
  ParameterCounts active;  ///< of one token: top_k routed experts and the shared ones; all else
};

std::int64_t attention_parameters(const Attention& attention, std::int64_t hidden);
ModelParameters count_parameters(const ModelDescription& model);

/// One request's part of a step: prefill has no prefix, decode one new token.
struct NewTokens {
  std::int64_t prefix = 0;  ///< tokens before them
  std::int64_t count = 0;
};

/// (query, key) pairs of one query head, exactly. Over s new tokens on a prefix of P: s P + s (s +
/// 1) / 2 (full); W L - W (W - 1) / 2 for L >= W without a prefix (window W); blocks of C (C + 1) /
/// 2 (chunk C).
std::int64_t attention_pairs(const AttentionSpan& span, const NewTokens& tokens);

/// How MLA is computed. Both give the same result and have the same projections: expanded makes
/// keys and values of the latents, absorbed moves those projections to queries and outputs.
enum class LatentForm : std::uint8_t {
  expanded,  ///< heads of nope + rope and v: cheap a pair, for prefill
  absorbed,  ///< heads of kv_lora + rope and kv_lora over the one stored row: for decode
};

/// FLOPs of one layer's scores and weighted sums, 2 Hq (d_qk + d_v) a pair. An indexer adds 2 heads
/// head_dim for each causal pair and leaves min(position + 1, top_k) of them to the core. Linear
/// attention: 6 Hv dk dv a token, its recurrence's three products of state and vector (arXiv
/// 2412.06464, eq. 10); kernels that go by chunks do more.
double core_attention_flops(const Attention& attention, const NewTokens& tokens, LatentForm form);
double core_attention_flops(const ModelDescription& model, const NewTokens& tokens,
                            LatentForm form);

/// The layers whose core attention does most at the model's longest context.
const EqualLayers& heaviest_attention(const ModelDescription& model);

/// 2 FLOPs a token and active parameter of the layers.
double linear_flops(const ModelDescription& model, std::int64_t tokens);

/// Of tokens whose logits are wanted: all in decode, the last in prefill.
double head_flops(const ModelDescription& model, std::int64_t tokens);

/// What MLA's expanded form adds on a prefix, whose latents become keys and values once more.
double latent_expansion_flops(const ModelDescription& model, std::int64_t prefix);

}  // namespace headwise
