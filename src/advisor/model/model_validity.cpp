#include "advisor/model/model_validity.h"

#include "advisor/model/description_limits.h"
#include "core/check.h"

namespace headwise {
namespace {

struct Count {
  const char* name;
  std::int64_t value, least, most;
};

template <std::size_t n>
std::string why_out_of_range(const Count (&counts)[n]) {
  for (const auto& [name, value, least, most] : counts)
    if (value < least || value > most)
      return concat(name, " ", value, " is not from ", least, " to ", most);
  return {};
}

std::string why_no_multiple(const char* of, std::int64_t value, const char* by, std::int64_t part) {
  if (value % part == 0) return {};
  return concat(of, " ", value, " is no multiple of ", by, " ", part);
}

struct WhyInvalid {
  std::string operator()(const SoftmaxAttention& softmax) const {
    const bool is_full = softmax.span.kind == SpanKind::full;
    const Count counts[] = {
        {"q_heads", softmax.q_heads, 1, kMostDescribedHeads},
        {"kv_heads", softmax.kv_heads, 1, kMostDescribedHeads},
        {"head_dim", softmax.head_dim_qk, 1, kLargestDescribedHeadDim},
        {"v_head_dim", softmax.head_dim_v, 1, kLargestDescribedHeadDim},
        {"window", softmax.span.tokens, is_full ? 0 : 1, is_full ? 0 : kLargestContext}};
    if (std::string why = why_out_of_range(counts); !why.empty()) return why;
    return why_no_multiple("q_heads", softmax.q_heads, "kv_heads", softmax.kv_heads);
  }

  std::string operator()(const LatentAttention& latent) const {
    const Count counts[] = {
        {"q_heads", latent.q_heads, 1, kMostDescribedHeads},
        {"q_lora_rank", latent.q_lora_rank, 0, kLargestRank},
        {"kv_lora_rank", latent.kv_lora_rank, 1, kLargestRank},
        {"qk_nope_head_dim", latent.qk_nope_head_dim, 1, kLargestDescribedHeadDim},
        {"qk_rope_head_dim", latent.qk_rope_head_dim, 1, kLargestDescribedHeadDim},
        {"v_head_dim", latent.v_head_dim, 1, kLargestDescribedHeadDim}};
    std::string why = why_out_of_range(counts);
    if (!why.empty() || !latent.indexer) return why;
    const SparseIndexer& indexer = *latent.indexer;
    const Count of_indexer[] = {{"index_n_heads", indexer.heads, 1, kMostDescribedHeads},
                                {"index_head_dim", indexer.head_dim, 1, kLargestDescribedHeadDim},
                                {"index_topk", indexer.top_k, 1, kLargestContext}};
    return why_out_of_range(of_indexer);
  }

  std::string operator()(const LinearAttention& linear) const {
    const Count counts[] = {{"linear k_heads", linear.k_heads, 1, kMostDescribedHeads},
                            {"linear v_heads", linear.v_heads, 1, kMostDescribedHeads},
                            {"linear k_head_dim", linear.k_head_dim, 1, kLargestDescribedHeadDim},
                            {"linear v_head_dim", linear.v_head_dim, 1, kLargestDescribedHeadDim},
                            {"conv_kernel", linear.conv_kernel, 1, kLargestConvKernel}};
    if (std::string why = why_out_of_range(counts); !why.empty()) return why;
    return why_no_multiple("linear v_heads", linear.v_heads, "k_heads", linear.k_heads);
  }

  std::string operator()(const DenseFeedForward& dense) const {
    const Count counts[] = {{"intermediate_size", dense.width, 1, kLargestFeedForward}};
    return why_out_of_range(counts);
  }

  std::string operator()(const MixtureOfExperts& moe) const {
    const Count counts[] = {{"experts", moe.experts, 1, kMostExperts},
                            {"top_k", moe.top_k, 1, moe.experts},
                            {"expert width", moe.expert_width, 1, kLargestFeedForward},
                            {"shared experts", moe.shared_experts, 0, kMostSharedExperts},
                            {"shared width", moe.shared_width, 0, kLargestFeedForward},
                            {"latent width", moe.latent_width, 0, kLargestHidden}};
    return why_out_of_range(counts);
  }
};

}  // namespace

std::string why_invalid(const ModelDescription& model) {
  const Count counts[] = {{"layers", model.layers(), 1, kMostDescribedLayers},
                          {"hidden", model.hidden, 1, kLargestHidden},
                          {"vocab", model.vocab, 1, kLargestDescribedVocab},
                          {"context", model.context, 1, kLargestContext}};
  if (std::string why = why_out_of_range(counts); !why.empty()) return why;
  for (const EqualLayers& group : model.groups) {
    const LayerDescription& layer = group.layer;
    if (std::string why = std::visit(WhyInvalid{}, layer.attention); !why.empty()) return why;
    if (std::string why = std::visit(WhyInvalid{}, layer.feed_forward); !why.empty()) return why;
  }
  return {};
}

}  // namespace headwise
