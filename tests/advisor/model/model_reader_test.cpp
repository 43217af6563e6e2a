#include "advisor/model/model_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/advisor/model/described_model.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

const SoftmaxAttention& softmax(const ModelDescription& model, std::size_t group) {
  return std::get<SoftmaxAttention>(model.groups.at(group).layer.attention);
}

const LatentAttention& latent(const ModelDescription& model, std::size_t group) {
  return std::get<LatentAttention>(model.groups.at(group).layer.attention);
}

const MixtureOfExperts& experts(const ModelDescription& model, std::size_t group) {
  return std::get<MixtureOfExperts>(model.groups.at(group).layer.feed_forward);
}

std::int64_t dense_width(const ModelDescription& model, std::size_t group) {
  return std::get<DenseFeedForward>(model.groups.at(group).layer.feed_forward).width;
}

/// "3 24": the groups' counts.
std::string counts(const ModelDescription& model) {
  std::ostringstream text;
  const char* separator = "";
  for (const EqualLayers& group : model.groups) {
    text << separator << group.count;
    separator = " ";
  }
  return text.str();
}

/// "0011", of the first layers.
std::string first_groups(const ModelDescription& model, std::size_t layers) {
  std::string text;
  for (std::size_t i = 0; i < layers; ++i) text += std::to_string(model.group_of_layer.at(i));
  return text;
}

/// What is assumed of a field; "-" for nothing.
std::string assumed(const ModelDescription& model, const std::string& field) {
  const auto found = std::ranges::find(model.assumptions, field, &Assumption::field);
  return found == model.assumptions.end() ? "-" : found->value;
}

TEST(ModelReader, Llama) {
  const ModelDescription model = described("llama-3.1-8b");
  EXPECT_EQ(model.model_type, "llama");
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.vocab, 128256);
  EXPECT_EQ(model.context, 131072);
  EXPECT_FALSE(model.tied_embeddings);
  EXPECT_EQ(model.layers(), 32);
  EXPECT_EQ(counts(model), "32");
  const SoftmaxAttention expected{
      .q_heads = 32, .kv_heads = 8, .head_dim_qk = 128, .head_dim_v = 128};
  EXPECT_EQ(softmax(model, 0), expected);
  EXPECT_EQ(dense_width(model, 0), 14336);
  ASSERT_EQ(model.assumptions.size(), 1U);
  EXPECT_EQ(assumed(model, "head_dim"), "128");
}

TEST(ModelReader, NothingIsAssumedThatTheFileHolds) {
  Json json = config_json("llama-3.1-8b");
  json["head_dim"] = 128;
  EXPECT_TRUE(description_of(json).assumptions.empty());
  json.erase("num_key_value_heads");
  json.erase("tie_word_embeddings");
  const ModelDescription model = description_of(json);
  EXPECT_EQ(softmax(model, 0).kv_heads, 32);
  EXPECT_EQ(model.assumptions.size(), 2U);
  EXPECT_EQ(assumed(model, "num_key_value_heads"), "32");
  EXPECT_EQ(assumed(model, "tie_word_embeddings"), "false");
  for (const Assumption& each : model.assumptions) EXPECT_FALSE(each.why.empty()) << each.field;
}

TEST(ModelReader, Qwen3HeadsAreNotHiddenByHeads) {
  EXPECT_EQ(softmax(described("qwen3-32b"), 0).head_dim_qk, 128);
  EXPECT_EQ(described("qwen3-32b").assumptions.size(), 0U);
}

TEST(ModelReader, QwensWindowIsUsedOnlyWhereItIsSaidToBe) {
  Json json = config_json("qwen3-8b");
  json["sliding_window"] = 4096;
  EXPECT_EQ(counts(description_of(json)), "36");
  json["use_sliding_window"] = true;
  json["max_window_layers"] = 30;
  const ModelDescription model = description_of(json);
  EXPECT_EQ(counts(model), "30 6");
  EXPECT_EQ(softmax(model, 1).span, (AttentionSpan{SpanKind::sliding_window, 4096}));
}

TEST(ModelReader, MistralsWindowIsEveryLayers) {
  Json json = config_json("mistral-7b-v0.1");
  const AttentionSpan window{SpanKind::sliding_window, 4096};
  EXPECT_EQ(softmax(description_of(json), 0).span, window);
  EXPECT_EQ(assumed(description_of(json), "layer_types"), "sliding_attention in all layers");
  json["sliding_window"] = nullptr;
  EXPECT_EQ(softmax(description_of(json), 0).span, AttentionSpan{});
  json.erase("sliding_window");
  EXPECT_EQ(softmax(description_of(json), 0).span, window);
  EXPECT_EQ(assumed(description_of(json), "sliding_window"), "4096");
}

TEST(ModelReader, MixtralsAndQwensExperts) {
  const ModelDescription mixtral = described("mixtral-8x7b");
  EXPECT_EQ(softmax(mixtral, 0).span, AttentionSpan{});
  EXPECT_EQ(experts(mixtral, 0),
            (MixtureOfExperts{.experts = 8, .top_k = 2, .expert_width = 14336}));
  Json left_out = config_json("mixtral-8x7b");
  left_out.erase("sliding_window");
  EXPECT_EQ(assumed(description_of(left_out), "sliding_window"), "null");
  EXPECT_EQ(experts(described("qwen3-235b-a22b"), 0),
            (MixtureOfExperts{.experts = 128, .top_k = 8, .expert_width = 1536}));
  Json json = config_json("qwen3-235b-a22b");
  json["decoder_sparse_step"] = 2;
  json["mlp_only_layers"] = {1};
  const ModelDescription sparse = description_of(json);
  EXPECT_EQ(first_groups(sparse, 6), "000101");
  EXPECT_EQ(dense_width(sparse, 0), 12288);
}

TEST(ModelReader, Gemma2AlternatesAndIsTied) {
  const ModelDescription model = described("gemma-2-9b");
  EXPECT_EQ(counts(model), "21 21");
  EXPECT_EQ(first_groups(model, 4), "0101");
  EXPECT_EQ(softmax(model, 0).span, (AttentionSpan{SpanKind::sliding_window, 4096}));
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_EQ(assumed(model, "tie_word_embeddings"), "true");
}

TEST(ModelReader, Gemma3HasFiveWindowsForEachFullLayer) {
  const ModelDescription model = described("gemma-3-12b");
  EXPECT_EQ(counts(model), "40 8");
  EXPECT_EQ(first_groups(model, 7), "0000010");
  EXPECT_EQ(counts(described("gemma-3-4b")), "29 5");
  EXPECT_EQ(counts(described("gemma-3-27b")), "52 10");
  EXPECT_EQ(assumed(model, "vision_config"), "left out");
}

TEST(ModelReader, Gemma3SmallestFilesAreFilledIn) {
  const ModelDescription model = described("gemma-3-4b");
  EXPECT_EQ(softmax(model, 0).q_heads, 8);
  EXPECT_EQ(softmax(model, 0).kv_heads, 4);
  EXPECT_EQ(softmax(model, 0).head_dim_qk, 256);
  for (const auto* field : {"num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
                            "max_position_embeddings", "layer_types", "tie_word_embeddings"})
    EXPECT_NE(assumed(model, field), "-") << field;
}

TEST(ModelReader, DeepSeekStoresLatents) {
  const ModelDescription model = described("deepseek-r1");
  EXPECT_EQ(counts(model), "3 58");
  const LatentAttention expected{.q_heads = 128,
                                 .q_lora_rank = 1536,
                                 .kv_lora_rank = 512,
                                 .qk_nope_head_dim = 128,
                                 .qk_rope_head_dim = 64,
                                 .v_head_dim = 128};
  EXPECT_EQ(latent(model, 0), expected);
  EXPECT_EQ(latent(model, 1), expected);
  EXPECT_EQ(dense_width(model, 0), 18432);
  EXPECT_EQ(experts(model, 1), (MixtureOfExperts{.experts = 256,
                                                 .top_k = 8,
                                                 .expert_width = 2048,
                                                 .shared_experts = 1,
                                                 .shared_width = 2048}));
  EXPECT_EQ(assumed(model, "num_nextn_predict_layers"), "0");
  EXPECT_EQ(latent(described("deepseek-v3.2"), 0).indexer,
            (SparseIndexer{.heads = 64, .head_dim = 128, .top_k = 2048}));
  EXPECT_EQ(counts(described("kimi-k2")), "1 60");
  EXPECT_EQ(latent(described("kimi-k2"), 1).q_heads, 64);
}

TEST(ModelReader, KimiLinearsListsCountFromOne) {
  const ModelDescription model = described("kimi-linear-48b");
  EXPECT_EQ(counts(model), "1 19 7");
  EXPECT_EQ(first_groups(model, 9), "011211121");
  EXPECT_EQ(model.group_of_layer.back(), 2);
  EXPECT_EQ(std::get<LinearAttention>(model.groups[0].layer.attention),
            (LinearAttention{.k_heads = 32,
                             .v_heads = 32,
                             .k_head_dim = 128,
                             .v_head_dim = 128,
                             .conv_kernel = 4,
                             .decay = StateDecay::per_channel,
                             .low_rank_gate = true}));
  EXPECT_EQ(latent(model, 2).q_lora_rank, 0);
  EXPECT_EQ(model.context, 1048576);
}

TEST(ModelReader, KimiK3sExpertsWorkOnALatent) {
  const ModelDescription model = described("kimi-k3");
  EXPECT_EQ(model.model_type, "kimi_linear");
  EXPECT_EQ(counts(model), "1 68 24");
  EXPECT_EQ(first_groups(model, 9), "011211121");
  EXPECT_EQ(model.group_of_layer.at(91), 2);
  EXPECT_EQ(model.group_of_layer.at(92), 2);
  EXPECT_FALSE(std::get<LinearAttention>(model.groups[1].layer.attention).low_rank_gate);
  EXPECT_EQ(latent(model, 2).q_heads, 96);
  EXPECT_TRUE(latent(model, 2).output_gate);
  EXPECT_FALSE(latent(described("kimi-linear-48b"), 2).output_gate);
  EXPECT_EQ(dense_width(model, 0), 33792);
  EXPECT_EQ(experts(model, 1), (MixtureOfExperts{.experts = 896,
                                                 .top_k = 16,
                                                 .expert_width = 3072,
                                                 .shared_experts = 2,
                                                 .shared_width = 3072,
                                                 .latent_width = 3584}));
  EXPECT_EQ(assumed(model, "attn_res_block_size"), "left out");
  EXPECT_EQ(assumed(model, "vision_config"), "left out");
}

TEST(ModelReader, Gemma4sFullLayersHaveHeadsOfTheirOwn) {
  const ModelDescription model = described("gemma-4-26b");
  EXPECT_EQ(counts(model), "25 5");
  EXPECT_EQ(first_groups(model, 7), "0000010");
  EXPECT_EQ(softmax(model, 0), (SoftmaxAttention{.q_heads = 16,
                                                 .kv_heads = 8,
                                                 .head_dim_qk = 256,
                                                 .head_dim_v = 256,
                                                 .span = {SpanKind::sliding_window, 1024}}));
  EXPECT_EQ(softmax(model, 1), (SoftmaxAttention{.q_heads = 16,
                                                 .kv_heads = 2,
                                                 .head_dim_qk = 512,
                                                 .head_dim_v = 512,
                                                 .keys_give_values = true}));
  EXPECT_EQ(experts(model, 1), (MixtureOfExperts{.experts = 128,
                                                 .top_k = 8,
                                                 .expert_width = 704,
                                                 .shared_experts = 1,
                                                 .shared_width = 2112}));
  EXPECT_EQ(assumed(model, "num_shared_experts"), "1");
  EXPECT_TRUE(model.tied_embeddings);
}

TEST(ModelReader, WhatGemma4sFilesLeaveOut) {
  Json json = config_json("gemma-4-26b");
  Json& text = json["text_config"];
  for (const auto* name : {"layer_types", "global_head_dim", "attention_k_eq_v", "sliding_window",
                           "num_key_value_heads", "tie_word_embeddings"})
    text.erase(name);
  json.erase("tie_word_embeddings");
  text["enable_moe_block"] = false;
  const ModelDescription model = description_of(json);
  EXPECT_EQ(counts(model), "25 5");
  EXPECT_EQ(softmax(model, 0).span.tokens, 512);
  EXPECT_EQ(softmax(model, 1).head_dim_qk, 512);
  EXPECT_EQ(softmax(model, 1).kv_heads, 4);  // not the global layers', as K is not V
  EXPECT_FALSE(softmax(model, 1).keys_give_values);
  EXPECT_EQ(dense_width(model, 0), 2112);
  for (const auto* field : {"layer_types", "global_head_dim", "attention_k_eq_v", "sliding_window",
                            "num_key_value_heads", "tie_word_embeddings"})
    EXPECT_NE(assumed(model, field), "-") << field;
  text["layer_types"] = std::vector<std::string>(30, "sliding_attention");
  EXPECT_EQ(counts(description_of(json)), "29 1");
  EXPECT_EQ(assumed(description_of(json), "layer_types"), "full_attention in the last layer");
}

TEST(ModelReader, HybridQwensAreLinearButEachFourth) {
  const ModelDescription model = described("qwen3-next-80b-a3b");
  EXPECT_EQ(counts(model), "36 12");
  EXPECT_EQ(first_groups(model, 5), "00010");
  EXPECT_EQ(std::get<LinearAttention>(model.groups[0].layer.attention).v_heads, 32);
  EXPECT_TRUE(softmax(model, 1).output_gate);
  EXPECT_EQ(assumed(model, "attn_output_gate"), "true");
  EXPECT_EQ(experts(model, 0), (MixtureOfExperts{.experts = 512,
                                                 .top_k = 10,
                                                 .expert_width = 512,
                                                 .shared_experts = 1,
                                                 .shared_width = 512,
                                                 .shared_gate = true}));
  EXPECT_EQ(counts(described("qwen3.5-397b-a17b")), "45 15");
  EXPECT_EQ(assumed(described("qwen3.5-397b-a17b"), "attn_output_gate"), "-");
}

TEST(ModelReader, GptOssAlternatesWithOrWithoutAList) {
  const ModelDescription listed = described("gpt-oss-20b");
  EXPECT_EQ(counts(listed), "12 12");
  EXPECT_EQ(softmax(listed, 0).span, (AttentionSpan{SpanKind::sliding_window, 128}));
  EXPECT_EQ(experts(listed, 0),
            (MixtureOfExperts{.experts = 32, .top_k = 4, .expert_width = 2880}));
  EXPECT_EQ(assumed(listed, "layer_types"), "-");
  const ModelDescription unlisted = described("gpt-oss-120b");
  EXPECT_EQ(counts(unlisted), "18 18");
  EXPECT_NE(assumed(unlisted, "layer_types"), "-");
}

TEST(ModelReader, Llama4ChunksAllButEachFourthLayer) {
  const ModelDescription scout = described("llama-4-scout");
  EXPECT_EQ(counts(scout), "36 12");
  EXPECT_EQ(first_groups(scout, 5), "00010");
  EXPECT_EQ(softmax(scout, 0).span, (AttentionSpan{SpanKind::chunked, 8192}));
  EXPECT_EQ(experts(scout, 0).shared_experts, 1);
  EXPECT_EQ(experts(scout, 1).experts, 16);
  EXPECT_EQ(assumed(scout, "no_rope_layer_interval"), "4");

  const ModelDescription maverick = described("llama-4-maverick");
  EXPECT_EQ(first_groups(maverick, 8), "01020102");
  EXPECT_EQ(dense_width(maverick, 0), 16384);
  EXPECT_EQ(experts(maverick, 1).expert_width, 8192);

  Json json = config_json("llama-4-maverick");
  Json& text = json["text_config"];
  text["moe_layers"] = {0, 1};
  text["no_rope_layers"] = std::vector<int>(48, 1);
  const ModelDescription listed = description_of(json);
  EXPECT_EQ(counts(listed), "2 46");
  text["attention_chunk_size"] = nullptr;
  EXPECT_EQ(softmax(description_of(json), 0).span, AttentionSpan{});
}

TEST(ModelReader, UnknownFamiliesAreReadByTheirFields) {
  Json json = config_json("gpt-oss-20b");
  json["model_type"] = "brand_new";
  const ModelDescription model = description_of(json);
  EXPECT_EQ(counts(model), "12 12");
  EXPECT_EQ(experts(model, 0).expert_width, 2880);
  for (const auto* field :
       {"model_type", "moe_intermediate_size", "decoder_sparse_step", "mlp.gate_proj"})
    EXPECT_NE(assumed(model, field), "-") << field;

  json = config_json("deepseek-v3.2");
  json["model_type"] = "brand_new";
  EXPECT_EQ(description_of(json).groups[1].layer, described("deepseek-v3.2").groups[1].layer);
  json = config_json("kimi-linear-48b");
  json["model_type"] = "brand_new";
  EXPECT_EQ(description_of(json).groups[2].layer, described("kimi-linear-48b").groups[2].layer);
  json = config_json("qwen3-8b");
  json["model_type"] = "brand_new";
  EXPECT_EQ(description_of(json).groups[0].layer, described("qwen3-8b").groups[0].layer);
  json = config_json("kimi-k3");
  json["text_config"]["model_type"] = "brand_new";
  EXPECT_EQ(description_of(json).groups[2].layer, described("kimi-k3").groups[2].layer);
}

TEST(ModelReader, WhatUnknownFamiliesDoNotSayIsAssumed) {
  Json json = config_json("llama-3.1-8b");
  json["model_type"] = "brand_new";
  EXPECT_EQ(assumed(description_of(json), "layer_types"), "full_attention in all layers");
  json = config_json("llama-4-maverick");
  json["text_config"]["model_type"] = "brand_new";
  json["text_config"]["layer_types"] = std::vector<std::string>(48, "chunked_attention");
  const ModelDescription model = description_of(json);
  EXPECT_EQ(dense_width(model, 0), 16384);
  EXPECT_EQ(softmax(model, 0).span, (AttentionSpan{SpanKind::chunked, 8192}));
}

TEST(ModelReader, FieldsThatDoNotMatterMayBeAnything) {
  Json json = config_json("llama-3.1-8b");
  json["router_jitter"] = "new";
  json["custom_attention_thing"] = false;
  json["mystery_heads"] = nullptr;
  EXPECT_EQ(description_of(json).groups[0].layer, described("llama-3.1-8b").groups[0].layer);
}

}  // namespace
}  // namespace headwise
