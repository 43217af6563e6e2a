#include "advisor/model/attention_reader.h"

#include <algorithm>
#include <set>

#include "advisor/model/description_limits.h"
#include "advisor/model/layer_types.h"
#include "core/check.h"

namespace headwise {
namespace {

std::string default_of(const ConfigFamily& family) {
  return concat("transformers' default for ", family.model_type);
}

int read_q_heads(ModelFields& fields, const ConfigFamily& family) {
  constexpr auto kName = "num_attention_heads";
  if (family.q_heads == 0) return fields.count(kName, kMostDescribedHeads);
  return fields.count_or_assume(kName, kMostDescribedHeads, family.q_heads, default_of(family));
}

int read_kv_heads(ModelFields& fields, const ConfigFamily& family, int q_heads) {
  constexpr auto kName = "num_key_value_heads";
  const int otherwise = family.kv_heads_are_q_heads ? q_heads : family.kv_heads;
  const int kv_heads = otherwise == 0 ? fields.count(kName, kMostDescribedHeads)
                                      : fields.count_or_assume(kName, kMostDescribedHeads,
                                                               otherwise, default_of(family));
  check(q_heads % kv_heads == 0, "field 'num_attention_heads' ", q_heads,
        " is not a multiple of 'num_key_value_heads' ", kv_heads);
  return kv_heads;
}

int read_head_dim(ModelFields& fields, const ConfigFamily& family, int q_heads, int hidden) {
  constexpr auto kName = "head_dim";
  if (fields.has(kName)) return fields.count(kName, kLargestDescribedHeadDim);
  if (family.head_dim > 0) {
    return fields.count_or_assume(kName, kLargestDescribedHeadDim, family.head_dim,
                                  default_of(family));
  }
  check(family.head_dim_by_division, "field 'head_dim' is missing");
  check(hidden % q_heads == 0, "field 'head_dim' is missing, and 'hidden_size' ", hidden,
        " is not a multiple of 'num_attention_heads' ", q_heads);
  return fields.count_or_assume(kName, kLargestDescribedHeadDim, hidden / q_heads,
                                "hidden_size / num_attention_heads");
}

bool read_output_gate(ModelFields& fields, const ConfigFamily& family) {
  constexpr auto kName = "attn_output_gate";
  if (fields.has(kName)) return fields.boolean_or(kName, false);
  if (family.output_gate) fields.assume(kName, "true", concat("the rule of ", family.model_type));
  return family.output_gate;
}

SoftmaxAttention read_softmax(ModelFields& fields, const ConfigFamily& family, int hidden) {
  const int q_heads = read_q_heads(fields, family);
  const int kv_heads = read_kv_heads(fields, family, q_heads);
  const int head_dim = read_head_dim(fields, family, q_heads, hidden);
  constexpr auto kValueDim = "v_head_dim";
  return {.q_heads = q_heads,
          .kv_heads = kv_heads,
          .head_dim_qk = head_dim,
          .head_dim_v =
              fields.has(kValueDim) ? fields.count(kValueDim, kLargestDescribedHeadDim) : head_dim,
          .output_gate = read_output_gate(fields, family)};
}

/// Of layers without a window, which in Gemma 4 have heads of their own; `softmax` for all others.
SoftmaxAttention read_global(ModelFields& fields, const ConfigFamily& family,
                             const SoftmaxAttention& softmax) {
  constexpr auto kDim = "global_head_dim";
  constexpr auto kKvHeads = "num_global_key_value_heads";
  if (family.is_known && family.global_head_dim == 0) return softmax;
  SoftmaxAttention global = softmax;
  if (fields.has(kDim) || family.global_head_dim > 0) {
    global.head_dim_qk = global.head_dim_v = fields.count_or_assume(
        kDim, kLargestDescribedHeadDim, family.global_head_dim, default_of(family));
  }
  constexpr auto kShared = "attention_k_eq_v";
  if (!fields.has(kShared) && family.is_known) fields.assume(kShared, "false", default_of(family));
  global.keys_give_values = fields.boolean_or(kShared, false);
  const bool has_own = fields.has(kKvHeads);  // goes unread otherwise, as in transformers
  if (!global.keys_give_values || !has_own) return global;
  global.kv_heads = fields.count(kKvHeads, kMostDescribedHeads);
  check(global.q_heads % global.kv_heads == 0, "field 'num_attention_heads' ", global.q_heads,
        " is not a multiple of 'num_global_key_value_heads' ", global.kv_heads);
  return global;
}

LinearAttention read_gated_delta_net(ModelFields& fields) {
  const LinearAttention linear{
      .k_heads = fields.count("linear_num_key_heads", kMostDescribedHeads),
      .v_heads = fields.count("linear_num_value_heads", kMostDescribedHeads),
      .k_head_dim = fields.count("linear_key_head_dim", kLargestDescribedHeadDim),
      .v_head_dim = fields.count("linear_value_head_dim", kLargestDescribedHeadDim),
      .conv_kernel = fields.count("linear_conv_kernel_dim", kLargestConvKernel)};
  check(linear.v_heads % linear.k_heads == 0, "field 'linear_num_value_heads' ", linear.v_heads,
        " is not a multiple of 'linear_num_key_heads' ", linear.k_heads);
  return linear;
}

std::optional<SparseIndexer> read_indexer(ModelFields& fields, const ConfigFamily& family) {
  const bool heads = fields.has("index_n_heads");
  const bool dim = fields.has("index_head_dim");
  const bool top_k = fields.has("index_topk");
  if (!heads && !dim && !top_k && !family.indexer) return std::nullopt;
  return SparseIndexer{.heads = fields.count("index_n_heads", kMostDescribedHeads),
                       .head_dim = fields.count("index_head_dim", kLargestDescribedHeadDim),
                       .top_k = fields.count("index_topk", kLargestContext)};
}

LatentAttention read_latent(ModelFields& fields, const ConfigFamily& family) {
  constexpr auto kQueryRank = "q_lora_rank";
  // Of heads whose K and V are never stored, and of their rotated part: what is stored is the
  // latent.
  for (const auto* name : {"num_key_value_heads", "head_dim", "qk_head_dim"}) fields.has(name);
  check(!fields.is_left_out(kQueryRank), "field 'q_lora_rank' is missing");
  return {.q_heads = fields.count("num_attention_heads", kMostDescribedHeads),
          .q_lora_rank = fields.has(kQueryRank) ? fields.count(kQueryRank, kLargestRank) : 0,
          .kv_lora_rank = fields.count("kv_lora_rank", kLargestRank),
          .qk_nope_head_dim = fields.count("qk_nope_head_dim", kLargestDescribedHeadDim),
          .qk_rope_head_dim = fields.count("qk_rope_head_dim", kLargestDescribedHeadDim),
          .v_head_dim = fields.count("v_head_dim", kLargestDescribedHeadDim),
          .output_gate = fields.boolean_or("mla_use_output_gate", false),
          .indexer = read_indexer(fields, family)};
}

Attention with_span(const SoftmaxAttention& softmax, AttentionSpan span) {
  SoftmaxAttention attention = softmax;
  attention.span = span;
  return attention;
}

std::vector<Attention> read_softmax_and_linear(ModelFields& fields, const ConfigFamily& family,
                                               int layers, int hidden) {
  const std::vector<LayerType> types = read_layer_types(fields, family, layers);
  const auto has = [&](LayerType type) { return std::ranges::count(types, type) > 0; };
  const SoftmaxAttention softmax = read_softmax(fields, family, hidden);
  const SoftmaxAttention global = read_global(fields, family, softmax);
  AttentionSpan window{.kind = SpanKind::sliding_window};
  AttentionSpan chunk{.kind = SpanKind::chunked};
  LinearAttention linear;
  if (has(LayerType::windowed)) {
    constexpr auto kName = "sliding_window";
    window.tokens =
        family.window > 0 && fields.is_left_out(kName)
            ? fields.count_or_assume(kName, kLargestContext, family.window, default_of(family))
            : fields.count(kName, kLargestContext);
  }
  if (has(LayerType::chunked)) chunk.tokens = fields.count("attention_chunk_size", kLargestContext);
  if (has(LayerType::linear)) linear = read_gated_delta_net(fields);

  std::vector<Attention> attention;
  for (const LayerType type : types) {
    if (type == LayerType::linear) attention.emplace_back(linear);
    if (type == LayerType::full) attention.emplace_back(global);
    if (type == LayerType::windowed) attention.push_back(with_span(softmax, window));
    if (type == LayerType::chunked) attention.push_back(with_span(softmax, chunk));
  }
  return attention;
}

/// Kimi Linear's lists, of layers from 1 up.
std::vector<Attention> read_listed_linear(ModelFields& fields, const ConfigFamily& family,
                                          int layers) {
  ModelFields lists = fields.nested("linear_attn_config");
  const int heads = lists.count("num_heads", kMostDescribedHeads);
  const int head_dim = lists.count("head_dim", kLargestDescribedHeadDim);
  const LinearAttention linear{
      .k_heads = heads,
      .v_heads = heads,
      .k_head_dim = head_dim,
      .v_head_dim = head_dim,
      .conv_kernel = lists.count("short_conv_kernel_size", kLargestConvKernel),
      .decay = StateDecay::per_channel,
      .low_rank_gate = !lists.boolean_or("use_full_rank_gate", false)};
  lists.has("gate_lower_bound");  // of the decay's values
  const std::vector<int> full = lists.integers("full_attn_layers", 1, layers);
  const std::vector<int> kda = lists.integers("kda_layers", 1, layers);
  lists.refuse_others();
  std::set<int> all(full.begin(), full.end());
  all.insert(kda.begin(), kda.end());
  check(std::ssize(all) == layers && std::ssize(full) + std::ssize(kda) == layers,
        "field 'linear_attn_config.kda_layers' and full_attn_layers together do not hold each of ",
        layers, " layers once");

  std::vector<Attention> attention(static_cast<std::size_t>(layers), linear);
  if (full.empty()) return attention;
  const LatentAttention latent = read_latent(fields, family);
  for (const int layer : full) attention[static_cast<std::size_t>(layer - 1)] = latent;
  return attention;
}

}  // namespace

std::vector<Attention> read_attention(ModelFields& fields, const ConfigFamily& family, int layers,
                                      int hidden) {
  const bool by_fields = !family.is_known;
  if (family.pattern == LayerPattern::listed_linear ||
      (by_fields && fields.has("linear_attn_config"))) {
    return read_listed_linear(fields, family, layers);
  }
  if (family.pattern == LayerPattern::latent || (by_fields && fields.has("kv_lora_rank"))) {
    return std::vector<Attention>(static_cast<std::size_t>(layers), read_latent(fields, family));
  }
  return read_softmax_and_linear(fields, family, layers, hidden);
}

}  // namespace headwise
