#include "advisor/model/model_work.h"

#include <gtest/gtest.h>

#include "advisor/model/description_limits.h"
#include "advisor/model/kv_state.h"
#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

constexpr std::int64_t k4K = 4096;
constexpr std::int64_t k128K = 131072;
constexpr LatentForm kExpanded = LatentForm::expanded;
constexpr LatentForm kAbsorbed = LatentForm::absorbed;

const Attention& attention_of(const ModelDescription& model, std::size_t group = 0) {
  return model.groups.at(group).layer.attention;
}

ParameterCounts all_of(const std::string& model) { return count_parameters(described(model)).all; }

/// The definition, row by row and key by key.
std::int64_t counted_pairs(const AttentionSpan& span, const NewTokens& tokens) {
  std::int64_t pairs = 0;
  for (std::int64_t p = tokens.prefix; p < tokens.prefix + tokens.count; ++p)
    for (std::int64_t s = 0; s <= p; ++s)
      pairs += span.kind == SpanKind::full ||
               (span.kind == SpanKind::sliding_window && p - s < span.tokens) ||
               (span.kind == SpanKind::chunked && p / span.tokens == s / span.tokens);
  return pairs;
}

TEST(ModelWork, PairsAreThoseOfTheDefinition) {
  for (const SpanKind kind : {SpanKind::full, SpanKind::sliding_window, SpanKind::chunked})
    for (const std::int64_t size : {1, 2, 5, 40})
      for (const std::int64_t prefix : {0, 1, 4, 5, 13})
        for (const std::int64_t count : {0, 1, 5, 7, 16}) {
          const AttentionSpan span{kind, size};
          EXPECT_EQ(attention_pairs(span, {prefix, count}), counted_pairs(span, {prefix, count}))
              << static_cast<int>(kind) << " " << size << " " << prefix << " " << count;
        }
}

TEST(ModelWork, PairsOfPublishedShapes) {
  EXPECT_EQ(attention_pairs({}, {126976, 4096}), 528'484'352);
  EXPECT_EQ(attention_pairs({SpanKind::sliding_window, 128}, {0, 16384}), 2'089'024);
  EXPECT_EQ(attention_pairs({SpanKind::chunked, 8192}, {0, 16384}), 8192LL * 8193);
  EXPECT_EQ(attention_pairs({}, {0, 8192}), 8192LL * 8193 / 2);
  EXPECT_EQ(attention_pairs({SpanKind::sliding_window, 1024}, {k128K - 1, 1}), 1024);
}

TEST(ModelWork, CoreOfLlama) {
  const ModelDescription llama = described("llama-3.1-8b");
  EXPECT_DOUBLE_EQ(core_attention_flops(llama, {0, 8192}, kExpanded), 17'594'333'528'064.0);
  const double decode = core_attention_flops(attention_of(llama), {k128K - 1, 1}, kExpanded);
  EXPECT_DOUBLE_EQ(decode, 4.0 * 32 * 128 * k128K);
  EXPECT_DOUBLE_EQ(core_attention_flops(llama, {126976, 4096}, kExpanded),
                   32 * 2.0 * 32 * 256 * 528'484'352);
}

TEST(ModelWork, CoreOfR1InBothForms) {
  const ModelDescription r1 = described("deepseek-r1");
  const Attention& layer = attention_of(r1);
  const double pairs = k4K * (k4K + 1) / 2.0;
  EXPECT_DOUBLE_EQ(core_attention_flops(layer, {0, k4K}, kExpanded), 81'920 * pairs);
  EXPECT_DOUBLE_EQ(core_attention_flops(layer, {0, k4K}, kAbsorbed), 2.0 * 128 * 1088 * pairs);
  EXPECT_NEAR(core_attention_flops(r1, {0, k4K}, kExpanded), 0.04193e15, 0.000005e15);
  EXPECT_NEAR(core_attention_flops(r1, {0, k128K}, kExpanded), 42.925e15, 0.0005e15);
  EXPECT_NEAR(core_attention_flops(layer, {0, 9}, kAbsorbed) /
                  core_attention_flops(layer, {0, 9}, kExpanded),
              3.4, 1e-9);
  EXPECT_DOUBLE_EQ(core_attention_flops(layer, {k128K - 1, 1}, kAbsorbed),
                   2.0 * 128 * 1088 * k128K);
  EXPECT_NEAR(core_attention_flops(r1, {0, k4K}, kExpanded) / k4K, 10.23e9, 0.01e9);
  EXPECT_NEAR(core_attention_flops(r1, {0, k128K}, kExpanded) / k128K, 327.5e9, 0.05e9);
}

TEST(ModelWork, ExpandingAPrefixIsItsProjection) {
  EXPECT_DOUBLE_EQ(latent_expansion_flops(described("deepseek-r1"), 1000),
                   2.0 * 61 * 512 * 128 * 256 * 1000);
  EXPECT_DOUBLE_EQ(latent_expansion_flops(described("llama-3.1-8b"), 1000), 0.0);
}

TEST(ModelWork, AnIndexerScoresAllAndLeavesItsBest) {
  const ModelDescription model = described("deepseek-v3.2");
  const double index = 2.0 * 64 * 128;
  EXPECT_DOUBLE_EQ(core_attention_flops(attention_of(model), {k128K - 1, 1}, kAbsorbed),
                   index * k128K + 2.0 * 128 * 1088 * 2048);
  EXPECT_DOUBLE_EQ(core_attention_flops(attention_of(model), {0, 1000}, kExpanded),
                   (index + 81'920) * 1000 * 1001 / 2);
  const double picked = 2048.0 * k4K - 2048.0 * 2047 / 2;
  EXPECT_DOUBLE_EQ(core_attention_flops(attention_of(model), {0, k4K}, kExpanded),
                   index * k4K * (k4K + 1) / 2 + 81'920 * picked);
}

TEST(ModelWork, CoreOfLayersThatDiffer) {
  const double pair = 2.0 * 64 * 128;
  EXPECT_DOUBLE_EQ(core_attention_flops(described("gpt-oss-20b"), {0, 16384}, kExpanded),
                   12 * pair * (2'089'024 + 16384.0 * 16385 / 2));
  EXPECT_DOUBLE_EQ(core_attention_flops(described("llama-4-scout"), {16383, 1}, kExpanded),
                   2.0 * 40 * 256 * (36 * 8192 + 12 * 16384));
  const double state = 6.0 * 32 * 128 * 128;
  EXPECT_DOUBLE_EQ(core_attention_flops(described("qwen3-next-80b-a3b"), {1000, 10}, kExpanded),
                   36 * state * 10 + 12 * 2.0 * 16 * 512 * (1000 * 10 + 55));
}

TEST(ModelWork, ParametersOfLlama) {
  const ParameterCounts counts = all_of("llama-3.1-8b");
  EXPECT_EQ(counts.in_layers(), 6'979'321'856);
  EXPECT_EQ(counts.embedding, 128256LL * 4096);
  EXPECT_EQ(counts.head, counts.embedding);
  EXPECT_EQ(counts.router, 0);
  EXPECT_DOUBLE_EQ(linear_flops(described("llama-3.1-8b"), 3), 6.0 * 6'979'321'856);
  EXPECT_DOUBLE_EQ(head_flops(described("llama-3.1-8b"), 3), 6.0 * 128256 * 4096);
  EXPECT_EQ(all_of("llama-3.1-70b").in_layers(), 80LL * 8192 * (2 * 8192 + 2 * 1024 + 3 * 28672));
  EXPECT_EQ(all_of("llama-3.1-405b").in_layers(),
            126LL * 16384 * (2 * 16384 + 2 * 1024 + 3 * 53248));
}

TEST(ModelWork, ParametersOfR1) {
  const ModelDescription r1 = described("deepseek-r1");
  EXPECT_EQ(attention_parameters(attention_of(r1), r1.hidden), 187'105'280);
  const auto [all, active] = count_parameters(r1);
  EXPECT_EQ(all.attention, 61 * 187'105'280LL);
  EXPECT_EQ(active.feed_forward + active.router, 3 * 396'361'728LL + 58 * 398'196'736LL);
  EXPECT_EQ(all.router, 58LL * 7168 * 256);
  EXPECT_EQ(all.feed_forward, 3 * 396'361'728LL + 58LL * 257 * 3 * 7168 * 2048);
  EXPECT_NEAR(static_cast<double>(active.in_layers()), 35.70e9, 0.005e9);
  EXPECT_NEAR(linear_flops(r1, 1), 71.4e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(all.total()), 671e9, 0.5e9);  // as published, without drafting
}

TEST(ModelWork, ParametersOfAnIndexer) {
  const ModelDescription model = described("deepseek-v3.2");
  EXPECT_EQ(attention_parameters(attention_of(model), 7168),
            187'105'280 + 1536LL * 64 * 128 + 7168 * (128 + 64));
}

TEST(ModelWork, ParametersOfDenseModels) {
  EXPECT_EQ(all_of("qwen3-8b").in_layers(), 36LL * 4096 * (2 * 4096 + 2 * 1024 + 3 * 12288));
  EXPECT_EQ(all_of("qwen3-32b").in_layers(), 64LL * 5120 * (2 * 8192 + 2 * 1024 + 3 * 25600));
  EXPECT_EQ(all_of("mistral-7b-v0.1").in_layers(), 32LL * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336));
  EXPECT_EQ(all_of("gemma-2-9b").in_layers(), 42LL * 3584 * (2 * 4096 + 2 * 2048 + 3 * 14336));
  EXPECT_EQ(all_of("gemma-3-27b").in_layers(), 62LL * 5376 * (2 * 4096 + 2 * 2048 + 3 * 21504));
  EXPECT_EQ(all_of("gemma-2-9b").head, 0);  // the embedding
  EXPECT_DOUBLE_EQ(head_flops(described("gemma-2-9b"), 1), 2.0 * 256000 * 3584);
}

TEST(ModelWork, ParametersOfExperts) {
  const auto [mixtral, mixtral_active] = count_parameters(described("mixtral-8x7b"));
  EXPECT_EQ(mixtral.feed_forward, 32LL * 8 * 3 * 4096 * 14336);
  EXPECT_EQ(mixtral_active.feed_forward, 32LL * 2 * 3 * 4096 * 14336);
  EXPECT_EQ(mixtral.router, 32LL * 8 * 4096);
  const auto [qwen, qwen_active] = count_parameters(described("qwen3-235b-a22b"));
  EXPECT_NEAR(static_cast<double>(qwen.total()), 235e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(qwen_active.total()), 22e9, 0.5e9);
  EXPECT_EQ(all_of("gpt-oss-20b").feed_forward, 24LL * 32 * 3 * 2880 * 2880);
  const auto [scout, scout_active] = count_parameters(described("llama-4-scout"));
  EXPECT_EQ(scout.feed_forward, 48LL * 17 * 3 * 5120 * 8192);
  EXPECT_EQ(scout_active.feed_forward, 48LL * 2 * 3 * 5120 * 8192);
  const auto [maverick, maverick_active] = count_parameters(described("llama-4-maverick"));
  EXPECT_EQ(maverick.feed_forward, 24LL * 3 * 5120 * (129 * 8192 + 16384));
  EXPECT_EQ(maverick_active.feed_forward, 24LL * 3 * 5120 * (2 * 8192 + 16384));
}

TEST(ModelWork, ParametersOfHybrids) {
  const ModelDescription next = described("qwen3-next-80b-a3b");
  // q, k, v, output gate, decay and step, output; the convolution.
  EXPECT_EQ(attention_parameters(attention_of(next, 0), 2048),
            2048LL * (2 * 2048 + 2 * 4096 + 2 * 32) + 4096 * 2048 + 8192 * 4);
  EXPECT_EQ(attention_parameters(attention_of(next, 1), 2048), 2048LL * (3 * 4096 + 2 * 512));
  EXPECT_EQ(count_parameters(next).all.router, 48LL * 2048 * 513);
  EXPECT_NEAR(static_cast<double>(count_parameters(next).all.total()), 80e9, 1e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(next).active.in_layers()), 3e9, 0.5e9);

  const ModelDescription kimi = described("kimi-linear-48b");
  EXPECT_EQ(attention_parameters(attention_of(kimi, 0), 2304),
            4LL * 2304 * 4096 + 2 * (2304 * 128 + 128 * 4096) + 2304 * 32 + 3 * 4096 * 4);
  EXPECT_EQ(attention_parameters(attention_of(kimi, 2), 2304),
            2304LL * 32 * 192 + 2304 * 576 + 512 * 32 * 256 + 32 * 128 * 2304);
  EXPECT_NEAR(static_cast<double>(count_parameters(kimi).all.total()), 49e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(kimi).active.in_layers()), 3e9, 0.5e9);
}

// The makers say 26 billion, of which 4 are active; 2.8 trillion, of which 104 billion are active.
TEST(ModelWork, ParametersOfModelsWhoseFieldsAreTheFilesOwn) {
  const ModelDescription gemma = described("gemma-4-26b");
  EXPECT_EQ(attention_parameters(attention_of(gemma, 0), 2816), 2816LL * (2 * 4096 + 2 * 2048));
  EXPECT_EQ(attention_parameters(attention_of(gemma, 1), 2816), 2816LL * (2 * 8192 + 1024));
  EXPECT_EQ(count_parameters(gemma).all.feed_forward, 30LL * 3 * 2816 * (128 * 704 + 2112));
  EXPECT_NEAR(static_cast<double>(count_parameters(gemma).all.total()), 25.2e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(gemma).active.total()), 4e9, 0.5e9);

  const ModelDescription kimi = described("kimi-k3");
  const std::int64_t wide = 96 * 128;
  EXPECT_EQ(attention_parameters(attention_of(kimi, 1), 7168),
            5 * 7168 * wide + 128 * (7168 + wide) + 7168 * 96 + 3 * wide * 4);
  EXPECT_EQ(attention_parameters(attention_of(kimi, 2), 7168),
            7168LL * 1536 + 1536LL * 96 * 192 + 7168 * 576 + 512LL * 96 * 256 + 2 * wide * 7168);
  const auto [all, active] = count_parameters(kimi);
  EXPECT_EQ(all.feed_forward,
            3LL * 7168 * 33792 +
                92 * (896LL * 3 * 3584 * 3072 + 2 * 3LL * 7168 * 3072 + 2 * 7168LL * 3584));
  EXPECT_NEAR(static_cast<double>(all.total()), 2.8e12, 0.05e12);
  EXPECT_NEAR(static_cast<double>(active.total() - active.embedding), 104e9, 0.5e9);
}

TEST(ModelWork, IntegersOfTheLargestModelsFit) {
  nlohmann::json dense = config_json("llama-3.1-8b");
  nlohmann::json experts = config_json("deepseek-r1");
  for (nlohmann::json* json : {&dense, &experts}) {
    (*json)["num_hidden_layers"] = kMostDescribedLayers;
    (*json)["num_attention_heads"] = kMostDescribedHeads;
    (*json)["num_key_value_heads"] = kMostDescribedHeads;
    (*json)["hidden_size"] = kLargestHidden;
    (*json)["vocab_size"] = kLargestDescribedVocab;
    (*json)["max_position_embeddings"] = kLargestContext;
  }
  dense["head_dim"] = kLargestDescribedHeadDim;
  dense["intermediate_size"] = kLargestFeedForward;
  for (const auto* name : {"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
    experts[name] = kLargestDescribedHeadDim;
  for (const auto* name : {"q_lora_rank", "kv_lora_rank"}) experts[name] = kLargestRank;
  experts["moe_intermediate_size"] = kLargestFeedForward;
  experts["n_routed_experts"] = kMostExperts;
  experts["n_shared_experts"] = kMostSharedExperts;
  experts["first_k_dense_replace"] = 0;
  for (const nlohmann::json& json : {dense, experts}) {
    const ModelDescription model = description_of(json);
    const double naive = static_cast<double>(kv_state(model, DType::f32).naive_per_token);
    EXPECT_LT(naive * kLargestContext, 0x1p63);
    EXPECT_GT(kv_bytes(model, DType::f32, kLargestContext), 1LL << 40);
    EXPECT_GT(count_parameters(model).all.total(), 1LL << 40);
    EXPECT_GT(attention_pairs({}, {0, kLargestContext}), 1LL << 52);
  }
}

}  // namespace
}  // namespace headwise
