#include "advisor/model/config_family.h"

#include <algorithm>
#include <array>

namespace headwise {
namespace {

using enum LayerPattern;

constexpr ConfigFamily gemma3(std::string_view model_type) {
  return {.model_type = model_type,
          .pattern = windowed_but_every,
          .experts = ExpertRule::none,
          .tied_embeddings = true,
          .q_heads = 8,
          .kv_heads = 4,
          .head_dim = 256,
          .vocab = 262208,
          .context = 131072};
}

constexpr ConfigFamily gemma4(std::string_view model_type) {
  return {.model_type = model_type,
          .pattern = windowed_but_every,
          .experts = ExpertRule::gemma4,
          .tied_embeddings = true,
          .last_is_full = true,
          .per_layer_input = true,
          .window = 512,
          .q_heads = 8,
          .kv_heads = 4,
          .head_dim = 256,
          .global_head_dim = 512,
          .vocab = 262144,
          .context = 131072};
}

constexpr ConfigFamily qwen3_next(std::string_view model_type, ExpertRule experts) {
  return {.model_type = model_type,
          .pattern = linear_but_every,
          .experts = experts,
          .output_gate = true};
}

constexpr ConfigFamily deepseek(std::string_view model_type, bool indexer = false) {
  return {.model_type = model_type,
          .pattern = latent,
          .experts = ExpertRule::deepseek,
          .indexer = indexer};
}

constexpr ConfigFamily llama4(std::string_view model_type) {
  return {.model_type = model_type, .pattern = chunked_but_nope, .experts = ExpertRule::llama4};
}

constexpr std::array<ConfigFamily, 24> kFamilies{{
    {.model_type = "llama",
     .pattern = full,
     .experts = ExpertRule::none,
     .head_dim_by_division = true,
     .kv_heads_are_q_heads = true},
    {.model_type = "mistral",
     .pattern = all_windowed,
     .experts = ExpertRule::none,
     .head_dim_by_division = true,
     .window = 4096},
    {.model_type = "mixtral",
     .pattern = all_windowed,
     .experts = ExpertRule::everywhere,
     .head_dim_by_division = true},
    {.model_type = "qwen2",
     .pattern = windowed_from,
     .experts = ExpertRule::none,
     .head_dim_by_division = true},
    {.model_type = "qwen3", .pattern = windowed_from, .experts = ExpertRule::none},
    {.model_type = "qwen2_moe",
     .pattern = windowed_from,
     .experts = ExpertRule::qwen,
     .head_dim_by_division = true},
    {.model_type = "qwen3_moe", .pattern = windowed_from, .experts = ExpertRule::qwen},
    qwen3_next("qwen3_next", ExpertRule::qwen),
    qwen3_next("qwen3_5", ExpertRule::none),
    qwen3_next("qwen3_5_text", ExpertRule::none),
    qwen3_next("qwen3_5_moe", ExpertRule::qwen),
    qwen3_next("qwen3_5_moe_text", ExpertRule::qwen),
    {.model_type = "gemma2",
     .pattern = alternating,
     .experts = ExpertRule::none,
     .tied_embeddings = true},
    gemma3("gemma3"),
    gemma3("gemma3_text"),
    gemma4("gemma4"),
    gemma4("gemma4_text"),
    deepseek("deepseek_v3"),
    deepseek("deepseek_v32", true),
    deepseek("kimi_k2"),
    {.model_type = "kimi_linear", .pattern = listed_linear, .experts = ExpertRule::deepseek},
    {.model_type = "gpt_oss", .pattern = alternating, .experts = ExpertRule::everywhere},
    llama4("llama4"),
    llama4("llama4_text"),
}};

}  // namespace

ConfigFamily config_family(std::string_view model_type) {
  const auto* found = std::ranges::find(kFamilies, model_type, &ConfigFamily::model_type);
  if (found != kFamilies.end()) return *found;
  return {.model_type = model_type,
          .is_known = false,
          .head_dim_by_division = true,
          .kv_heads_are_q_heads = true};
}

}  // namespace headwise
