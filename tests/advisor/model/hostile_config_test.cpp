#include <gtest/gtest.h>

#include "tests/advisor/model/described_model.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

/// One field of a good file made bad, and what the error must hold.
struct BadField {
  const char* model;
  const char* field;  ///< a JSON pointer
  const char* value;  ///< JSON; "" takes the field away
  const char* expected;
};

constexpr BadField kBadFields[] = {
    // Missing.
    {"llama-3.1-8b", "/model_type", "", "'model_type' is missing"},
    {"llama-3.1-8b", "/num_hidden_layers", "", "'num_hidden_layers' is missing"},
    {"llama-3.1-8b", "/hidden_size", "null", "'hidden_size' is missing"},
    {"llama-3.1-8b", "/vocab_size", "", "'vocab_size' is missing"},
    {"llama-3.1-8b", "/max_position_embeddings", "", "'max_position_embeddings' is missing"},
    {"llama-3.1-8b", "/num_attention_heads", "", "'num_attention_heads' is missing"},
    {"llama-3.1-8b", "/intermediate_size", "", "'intermediate_size' is missing"},
    {"mistral-7b-v0.1", "/num_key_value_heads", "", "'num_key_value_heads' is missing"},
    {"qwen3-32b", "/head_dim", "", "'head_dim' is missing"},
    {"mixtral-8x7b", "/num_local_experts", "", "'num_experts' is missing"},
    {"mixtral-8x7b", "/num_experts_per_tok", "", "'num_experts_per_tok' is missing"},
    {"qwen3-235b-a22b", "/moe_intermediate_size", "", "'moe_intermediate_size' is missing"},
    {"deepseek-r1", "/kv_lora_rank", "", "'kv_lora_rank' is missing"},
    {"deepseek-r1", "/q_lora_rank", "", "'q_lora_rank' is missing"},
    {"deepseek-r1", "/first_k_dense_replace", "", "'first_k_dense_replace' is missing"},
    {"deepseek-r1", "/n_shared_experts", "", "'n_shared_experts' is missing"},
    {"deepseek-r1", "/intermediate_size", "", "'intermediate_size' is missing"},
    {"deepseek-v3.2", "/index_topk", "", "'index_topk' is missing"},
    {"gpt-oss-20b", "/sliding_window", "null", "'sliding_window' is missing"},
    {"gemma-3-12b", "/text_config/sliding_window", "", "'text_config.sliding_window' is missing"},
    {"llama-4-scout", "/text_config/attention_chunk_size", "", "attention_chunk_size' is missing"},
    {"llama-4-maverick", "/text_config/intermediate_size_mlp", "", "intermediate_size_mlp'"},
    {"qwen3-next-80b-a3b", "/linear_num_value_heads", "", "'linear_num_value_heads' is missing"},
    {"kimi-linear-48b", "/linear_attn_config", "", "'linear_attn_config' is missing"},
    {"kimi-linear-48b", "/linear_attn_config/head_dim", "", "'linear_attn_config.head_dim'"},
    // Of another type.
    {"llama-3.1-8b", "/model_type", "7", "'model_type' is not a string"},
    {"llama-3.1-8b", "/hidden_size", "\"4096\"", "'hidden_size' is not an integer"},
    {"llama-3.1-8b", "/hidden_size", "4096.0", "'hidden_size' is not an integer"},
    {"llama-3.1-8b", "/num_attention_heads", "[32]", "'num_attention_heads' is not an integer"},
    {"llama-3.1-8b", "/tie_word_embeddings", "1", "'tie_word_embeddings' is neither true nor"},
    {"llama-3.1-8b", "/rope_scaling", "[]", "'rope_scaling' is not a JSON object"},
    {"gpt-oss-20b", "/layer_types", "\"full_attention\"", "'layer_types' is not an array"},
    {"gpt-oss-20b", "/layer_types", "[1, 2]", "'layer_types' holds something other than strings"},
    {"gpt-oss-20b", "/sliding_window", "true", "'sliding_window' is not an integer"},
    {"deepseek-r1", "/moe_layer_freq", "[0, 1]", "'moe_layer_freq' is not an integer"},
    {"qwen3-235b-a22b", "/mlp_only_layers", "3", "'mlp_only_layers' is not an array of integers"},
    {"gemma-3-12b", "/text_config", "[]", "'text_config' is not a JSON object"},
    {"kimi-linear-48b", "/linear_attn_config/kda_layers", "[1.5]", "config.kda_layers' holds"},
    // Negative, zero, absurd.
    {"llama-3.1-8b", "/num_hidden_layers", "-1", "'num_hidden_layers' is negative"},
    {"llama-3.1-8b", "/num_hidden_layers", "0", "'num_hidden_layers' is out of range: 0"},
    {"llama-3.1-8b", "/num_hidden_layers", "1000000", "'num_hidden_layers' is out of range"},
    {"llama-3.1-8b", "/hidden_size", "0", "'hidden_size' is out of range: 0"},
    {"llama-3.1-8b", "/hidden_size", "18446744073709551615", "'hidden_size' is out of range"},
    {"llama-3.1-8b", "/num_key_value_heads", "0", "'num_key_value_heads' is out of range: 0"},
    {"llama-3.1-8b", "/head_dim", "1000000", "'head_dim' is out of range"},
    {"llama-3.1-8b", "/max_position_embeddings", "1e400", "number that is out of range"},
    {"mistral-7b-v0.1", "/sliding_window", "0", "'sliding_window' is out of range: 0"},
    {"mistral-7b-v0.1", "/sliding_window", "-1", "'sliding_window' is negative"},
    {"deepseek-r1", "/n_routed_experts", "0", "'n_routed_experts' is out of range: 0"},
    {"deepseek-r1", "/qk_rope_head_dim", "-64", "'qk_rope_head_dim' is negative"},
    {"llama-4-scout", "/text_config/interleave_moe_layer_step", "0", "moe_layer_step' is out of"},
    {"qwen3-next-80b-a3b", "/linear_conv_kernel_dim", "0", "'linear_conv_kernel_dim' is out of"},
    {"llama-3.1-8b", "/vocab_size", "NaN", "is not JSON"},
    // Contradictions.
    {"llama-3.1-8b", "/num_key_value_heads", "5", "is not a multiple of 'num_key_value_heads' 5"},
    {"llama-3.1-8b", "/num_key_value_heads", "64", "multiple of 'num_key_value_heads' 64"},
    {"llama-3.1-8b", "/hidden_size", "4100", "'head_dim' is missing, and 'hidden_size' 4100"},
    {"gpt-oss-20b", "/num_hidden_layers", "25", "'layer_types' has 24 values for 25 layers"},
    {"gpt-oss-20b", "/experts_per_token", "8", "'experts_per_token' is 8 where 'num_experts_per"},
    {"mixtral-8x7b", "/num_experts_per_tok", "9", "'num_experts_per_tok' 9 is more than the 8"},
    {"qwen3-235b-a22b", "/mlp_only_layers", "[94]", "'mlp_only_layers' holds 94"},
    {"deepseek-r1", "/first_k_dense_replace", "62", "'first_k_dense_replace' is out of range: 62"},
    {"deepseek-r1", "/shared_expert_intermediate_size", "9", "'shared_expert_intermediate_size'"},
    {"kimi-linear-48b", "/num_hidden_layers", "28", "'linear_attn_config.kda_layers' and full_a"},
    {"kimi-linear-48b", "/linear_attn_config/full_attn_layers", "[1, 4]", "each of 27 layers"},
    {"llama-4-scout", "/text_config/no_rope_layers", "[1, 0]", "'no_rope_layers' has 2 values"},
    {"llama-4-scout", "/text_config/moe_layers", "[48]", "moe_layers' holds 48"},
    {"qwen3-next-80b-a3b", "/linear_num_key_heads", "3", "multiple of 'linear_num_key_heads' 3"},
    {"qwen3-8b", "/use_sliding_window", "true", "'sliding_window' is missing"},
    {"gpt-oss-20b", "/use_sliding_window", "false", "'use_sliding_window' is false, but"},
    {"llama-3.1-8b", "/is_encoder_decoder", "true", "'is_encoder_decoder' is true"},
    // Not understood, and it could matter.
    {"llama-3.1-8b", "/sliding_window", "4096", "'sliding_window' is there, but no 'layer_types'"},
    {"gpt-oss-20b", "/layer_types/3", "\"mamba\"", "'layer_types' holds 'mamba'"},
    {"llama-3.1-8b", "/rope_scaling/rope_type", "\"warp\"", "'rope_scaling.rope_type' is 'warp'"},
    {"llama-3.1-8b", "/global_head_dim", "512", "'global_head_dim' is not supported"},
    {"llama-3.1-8b", "/hybrid_override_pattern", "\"M*\"", "'hybrid_override_pattern'"},
    {"llama-3.1-8b", "/num_experts", "8", "'num_experts' is not supported"},
    {"deepseek-r1", "/layer_types", "[\"full_attention\"]", "'layer_types' is not supported"},
    {"llama-3.1-8b", "/attention_k_eq_v", "true", "'attention_k_eq_v' is not supported"},
    {"llama-3.1-8b", "/mla_use_output_gate", "true", "'mla_use_output_gate' is not supported"},
    {"llama-3.1-8b", "/routed_expert_hidden_size", "64", "'routed_expert_hidden_size' is not"},
    {"kimi-linear-48b", "/linear_attn_config/rank", "64", "'linear_attn_config.rank' is not"},
    {"kimi-k3", "/text_config/routed_expert_hidden_size", "0", "hidden_size' is out of range: 0"},
    {"kimi-k3", "/text_config/mla_use_output_gate", "1", "output_gate' is neither true nor"},
    {"gemma-4-26b", "/text_config/num_kv_shared_layers", "20",
     "'text_config.num_kv_shared_layers'"},
    {"gemma-4-26b", "/text_config/hidden_size_per_layer_input", "256", "is not 0, which is not"},
    {"gemma-4-26b", "/text_config/hidden_size_per_layer_input", "", "layer_input' is missing"},
    {"gemma-4-26b", "/text_config/num_global_key_value_heads", "3", "key_value_heads' 3"},
    {"gemma-4-26b", "/text_config/global_head_dim", "0", "'text_config.global_head_dim' is out"},
    {"gemma-4-26b", "/text_config/use_double_wide_mlp", "true", "use_double_wide_mlp' is not"},
    {"gemma-4-26b", "/text_config/use_bidirectional_attention", "\"all\"", "is 'all': only"},
    {"gemma-4-26b", "/text_config/num_experts", "null", "'num_experts' is missing"},
    {"gemma-4-26b", "/text_config/top_k_experts", "129", "129 is more than the 128 experts"},
};

/// As text, since not all that stands in the table can be a Json.
std::string with_field(const BadField& bad) {
  Json json = config_json(bad.model);
  const Json::json_pointer pointer(bad.field);
  if (*bad.value == '\0') {
    json.at(pointer.parent_pointer()).erase(pointer.back());
    return json.dump();
  }
  constexpr auto kMark = "value to be put here";
  json[pointer] = kMark;
  std::string text = json.dump();
  return text.replace(text.find(kMark) - 1, std::string(kMark).size() + 2, bad.value);
}

TEST(HostileConfig, IsRefusedInOneLineThatNamesTheField) {
  for (const BadField& bad : kBadFields) {
    const std::string error = error_of([&] { read_model_description(with_field(bad)); });
    EXPECT_NE(error.find(bad.expected), std::string::npos)
        << bad.model << " " << bad.field << " = " << bad.value << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(HostileConfig, NamesOutOfTheFileStayPrintableAndShort) {
  Json json = config_json("gpt-oss-20b");
  json["layer_types"][0] = "\n\x1b[2J" + std::string(1000, 'x');
  const std::string error = error_of([&] { description_of(json); });
  EXPECT_LT(error.size(), 250U);
  for (const char c : error) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(HostileConfig, DocumentsThatAreNoObject) {
  for (const auto* text : {"", "[]", "7", "null", "\"llama\"", "{", "{\"model_type\": \"llama\""})
    EXPECT_NE(error_of([&] { read_model_description(text); }), "") << text;
  EXPECT_NE(error_of([&] {
              read_model_description(R"({"model_type": "llama", "model_type": "x"})");
            }).find("'model_type' appears twice"),
            std::string::npos);
}

TEST(HostileConfig, AnyFieldOfAnyFileMayBeAnythingWithoutMoreThanAnError) {
  const Json values[] = {nullptr,
                         true,
                         -1,
                         0,
                         1,
                         3,
                         1e300,
                         "x",
                         Json::array(),
                         Json::object(),
                         Json::array({1}),
                         Json::array({"linear_attention"}),
                         2147483647};
  for (const auto* model : {"llama-3.1-8b", "qwen3-235b-a22b", "deepseek-v3.2", "kimi-linear-48b",
                            "gpt-oss-20b", "qwen3-next-80b-a3b", "gemma-4-26b", "kimi-k3"}) {
    Json good = config_json(model);
    if (good.contains("text_config")) good = Json(good["text_config"]);
    for (const auto& [name, old] : good.items())
      for (const Json& value : values) {
        Json json = good;
        json[name] = value;
        const std::string error = error_of([&] { description_of(json); });
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
        EXPECT_TRUE(error.empty() || error.find('\'') != std::string::npos) << name << error;
      }
  }
}

}  // namespace
}  // namespace headwise
