#include "advisor/model/feed_forward_reader.h"

#include <algorithm>

#include "advisor/model/description_limits.h"
#include "core/check.h"

namespace headwise {
namespace {

constexpr auto kWidth = "intermediate_size";

int read_expert_width(ModelFields& fields, const ConfigFamily& family) {
  constexpr auto kName = "moe_intermediate_size";
  const bool as_dense = family.experts == ExpertRule::everywhere ||
                        family.experts == ExpertRule::llama4 ||
                        family.experts == ExpertRule::by_fields;
  if (fields.has(kName) || !as_dense) return fields.count(kName, kLargestFeedForward);
  const int width = fields.count(kWidth, kLargestFeedForward);
  if (family.experts == ExpertRule::by_fields) {
    fields.assume(kName, std::to_string(width), "experts as wide as intermediate_size");
  }
  return width;
}

void read_shared_experts(ModelFields& fields, const ConfigFamily& family, MixtureOfExperts& moe) {
  constexpr auto kSharedWidth = "shared_expert_intermediate_size";
  const std::optional<int> count =
      fields.count_by_any({"n_shared_experts", "num_shared_experts"}, 0, kMostSharedExperts);
  check(count || family.experts != ExpertRule::deepseek ||
            !fields.is_left_out("n_shared_experts") || !fields.is_left_out("num_shared_experts"),
        "field 'n_shared_experts' is missing");
  if (count.value_or(0) > 0) {
    check(!fields.has(kSharedWidth), "field 'shared_expert_intermediate_size' is there beside a ",
          "count of shared experts");
    moe.shared_experts = *count;
    moe.shared_width = moe.expert_width;
  } else if (fields.has(kSharedWidth)) {
    moe.shared_width = fields.integer(kSharedWidth, 0, kLargestFeedForward);
    moe.shared_experts = moe.shared_width > 0 ? 1 : 0;
    moe.shared_gate = moe.shared_experts > 0;
  } else if (family.experts == ExpertRule::llama4) {
    moe.shared_experts = 1;
    moe.shared_width = moe.expert_width;
    fields.assume("num_shared_experts", "1", "the rule of Llama 4: as wide as a routed expert");
  } else if (family.experts == ExpertRule::gemma4) {
    moe.shared_experts = 1;
    moe.shared_width = fields.count(kWidth, kLargestFeedForward);
    fields.assume("num_shared_experts", "1",
                  "the rule of Gemma 4: a dense feed-forward of intermediate_size beside experts");
  }
}

MixtureOfExperts read_experts(ModelFields& fields, const ConfigFamily& family, int experts) {
  const std::optional<int> top_k = fields.count_by_any(
      {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts"}, 1,
      kMostExperts);
  check(top_k.has_value(), "field 'num_experts_per_tok' is missing");
  check(*top_k <= experts, "field 'num_experts_per_tok' ", *top_k, " is more than the ", experts,
        " experts");
  MixtureOfExperts moe{
      .experts = experts, .top_k = *top_k, .expert_width = read_expert_width(fields, family)};
  read_shared_experts(fields, family, moe);
  constexpr auto kLatent = "routed_expert_hidden_size";
  if (fields.has(kLatent)) moe.latent_width = fields.count(kLatent, kLargestHidden);
  return moe;
}

/// Layers before the first `count` are dense, and of the rest all but each step-th.
std::vector<bool> deepseek_layers(ModelFields& fields, int layers) {
  const int dense = fields.integer("first_k_dense_replace", 0, layers);
  const int step = fields.count_or_assume("moe_layer_freq", kMostDescribedLayers, 1,
                                          "all layers behind the dense ones have experts");
  std::vector<bool> has_experts;
  for (int layer = 0; layer < layers; ++layer)
    has_experts.push_back(layer >= dense && layer % step == 0);
  return has_experts;
}

std::vector<bool> each_step_th(int layers, int step) {
  std::vector<bool> has_experts;
  for (int layer = 0; layer < layers; ++layer) has_experts.push_back((layer + 1) % step == 0);
  return has_experts;
}

std::vector<bool> qwen_layers(ModelFields& fields, int layers) {
  const int step = fields.count_or_assume("decoder_sparse_step", kMostDescribedLayers, 1,
                                          "transformers' default: all layers have experts");
  std::vector<bool> has_experts = each_step_th(layers, step);
  if (fields.has("mlp_only_layers")) {
    for (const int layer : fields.integers("mlp_only_layers", 0, layers - 1))
      has_experts[static_cast<std::size_t>(layer)] = false;
  }
  return has_experts;
}

std::vector<bool> llama4_layers(ModelFields& fields, int layers) {
  constexpr auto kStep = "interleave_moe_layer_step";
  if (!fields.has("moe_layers")) {
    return each_step_th(layers,
                        fields.count_or_assume(kStep, kMostDescribedLayers, 1,
                                               "transformers' default: all layers have experts"));
  }
  fields.has(kStep);  // goes unread, as in transformers
  std::vector<bool> has_experts(static_cast<std::size_t>(layers), false);
  for (const int layer : fields.integers("moe_layers", 0, layers - 1))
    has_experts[static_cast<std::size_t>(layer)] = true;
  return has_experts;
}

ExpertRule rule_by_fields(ModelFields& fields) {
  if (fields.has("first_k_dense_replace")) return ExpertRule::deepseek;
  if (fields.has("decoder_sparse_step") || fields.has("mlp_only_layers")) return ExpertRule::qwen;
  if (fields.has("moe_layers") || fields.has("interleave_moe_layer_step")) {
    return ExpertRule::llama4;
  }
  fields.assume("decoder_sparse_step", "1", "no field says which layers have experts");
  return ExpertRule::everywhere;
}

std::vector<bool> read_expert_layers(ModelFields& fields, const ConfigFamily& family, int layers) {
  const ExpertRule rule =
      family.experts == ExpertRule::by_fields ? rule_by_fields(fields) : family.experts;
  if (rule == ExpertRule::deepseek) return deepseek_layers(fields, layers);
  if (rule == ExpertRule::qwen) return qwen_layers(fields, layers);
  if (rule == ExpertRule::llama4) return llama4_layers(fields, layers);
  return std::vector<bool>(static_cast<std::size_t>(layers), true);
}

/// Gemma 4's are there or not; what else the file says of them goes unread where they are not.
bool read_enabled(ModelFields& fields, const ConfigFamily& family) {
  if (family.experts != ExpertRule::gemma4) return family.experts != ExpertRule::none;
  for (const auto* name : {"num_experts", "top_k_experts", "moe_intermediate_size"})
    fields.has(name);
  return fields.boolean_or("enable_moe_block", false);
}

DenseFeedForward read_dense(ModelFields& fields, const ConfigFamily& family) {
  constexpr auto kBesideExperts = "intermediate_size_mlp";
  const bool beside = family.experts == ExpertRule::llama4 ||
                      (family.experts == ExpertRule::by_fields && fields.has(kBesideExperts));
  return {.width = fields.count(beside ? kBesideExperts : kWidth, kLargestFeedForward)};
}

}  // namespace

std::vector<FeedForward> read_feed_forward(ModelFields& fields, const ConfigFamily& family,
                                           int layers) {
  if (!family.is_known) {
    fields.assume("mlp.gate_proj", "present", "feed-forward is taken to be gated: three matrices");
  }
  std::optional<int> experts;
  const bool enabled = read_enabled(fields, family);
  if (enabled) {
    experts = fields.count_by_any({"num_local_experts", "num_experts", "n_routed_experts"}, 1,
                                  kMostExperts);
  }
  check(experts || !enabled || family.experts == ExpertRule::by_fields,
        "field 'num_experts' is missing, nor is there num_local_experts or n_routed_experts");
  fields.has(kWidth);  // may stand there where there are only experts
  if (family.experts == ExpertRule::llama4) fields.has("intermediate_size_mlp");
  if (!experts) {
    return std::vector<FeedForward>(static_cast<std::size_t>(layers), read_dense(fields, family));
  }
  const MixtureOfExperts moe = read_experts(fields, family, *experts);
  const std::vector<bool> has_experts = read_expert_layers(fields, family, layers);
  const bool some_dense = std::ranges::count(has_experts, false) > 0;
  const DenseFeedForward dense = some_dense ? read_dense(fields, family) : DenseFeedForward{};
  std::vector<FeedForward> feed_forward;
  for (const bool has : has_experts) {
    if (has) {
      feed_forward.emplace_back(moe);
    } else {
      feed_forward.emplace_back(dense);
    }
  }
  return feed_forward;
}

}  // namespace headwise
