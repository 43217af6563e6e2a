#include "model/hugging_face/hf_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/rope_frequencies.h"
#include "tests/model/error_of.h"
#include "tests/model/hf_writer.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

ModelConfig read(const Json& json) { return read_hf_config(json.dump()); }

Json with(Json json, const char* name, const Json& value) {
  json[name] = value;
  return json;
}

// The published configurations of these models, in what matters.
constexpr auto kLlama31 = R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009],
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling":
  {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
   "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.42.3",
  "use_cache": true, "vocab_size": 128256})";
constexpr auto kMistral = R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1,
  "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 32000})";
constexpr auto kQwen25 = R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0,
  "bos_token_id": 151643, "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 3584,
  "initializer_range": 0.02, "intermediate_size": 18944, "max_position_embeddings": 32768,
  "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
  "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06,
  "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false,
  "use_cache": true, "use_sliding_window": false, "vocab_size": 152064})";
constexpr auto kQwen3 = R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false,
  "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 25600,
  "max_position_embeddings": 40960, "max_window_layers": 64, "model_type": "qwen3",
  "num_attention_heads": 64, "num_hidden_layers": 64, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
  "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})";
constexpr auto kGemma3 = R"({"architectures": ["Gemma3ForConditionalGeneration"],
  "boi_token_index": 255999, "eoi_token_index": 256000, "eos_token_id": [1, 106],
  "image_token_index": 262144, "initializer_range": 0.02, "mm_tokens_per_image": 256,
  "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
  "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0,
  "rope_type": "linear"}, "sliding_window": 1024}, "torch_dtype": "bfloat16",
  "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"}})";

TEST(HfConfig, Llama) {
  const ModelConfig config = read_hf_config(kLlama31);
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.layers, 32);
  EXPECT_EQ(config.width, 4096);
  EXPECT_EQ(config.ffn_width, 14336);
  EXPECT_EQ(config.q_heads, 32);
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.vocab, 128256);
  EXPECT_EQ(config.context, 131072);
  EXPECT_EQ(config.rms_eps, 1e-5F);
  EXPECT_EQ(config.attention_scale, static_cast<float>(1.0 / std::sqrt(128.0)));
  EXPECT_EQ(config.rope_pairs, RopePairs::halves);
  EXPECT_FALSE(config.tied_output || config.qkv_bias || config.qk_norm || config.post_norms);
  EXPECT_EQ(config.norm_offset, 0.0F);
  ASSERT_EQ(config.kinds.size(), 1U);
  EXPECT_EQ(config.kinds[0].window, 0);
  EXPECT_EQ(config.kinds[0].rope.scaling, "llama3 x8 from 8192");
  EXPECT_EQ(config.kinds[0].rope.frequencies,
            llama3_rope(5e5, 128, {8.0, 1.0, 4.0, 8192.0}).frequencies);
}

TEST(HfConfig, Mistral) {
  const ModelConfig config = read_hf_config(kMistral);
  ASSERT_EQ(config.kinds.size(), 1U);
  EXPECT_EQ(config.kinds[0].window, 4096);
  EXPECT_EQ(config.head_dim, 128);
  Json json = Json::parse(kMistral);
  json["sliding_window"] = nullptr;
  EXPECT_EQ(read(json).kinds[0].window, 0);
  json.erase("sliding_window");
  EXPECT_EQ(read(json).kinds[0].window, 4096);
}

TEST(HfConfig, Qwen2) {
  const ModelConfig config = read_hf_config(kQwen25);
  EXPECT_TRUE(config.qkv_bias);
  ASSERT_EQ(config.kinds.size(), 1U);
  EXPECT_EQ(config.kinds[0].window, 0);
  Json json = Json::parse(kQwen25);
  json["use_sliding_window"] = true;
  json["max_window_layers"] = 26;
  const ModelConfig windowed = read(json);
  ASSERT_EQ(windowed.kinds.size(), 2U);
  EXPECT_EQ(windowed.kinds[0].window, 131072);
  EXPECT_EQ(windowed.kind_of_layer[25], 1);
  EXPECT_EQ(windowed.kind_of_layer[26], 0);
}

TEST(HfConfig, Qwen3HeadsAreNotWidthByHeads) {
  const ModelConfig config = read_hf_config(kQwen3);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_TRUE(config.qk_norm);
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.kinds[0].rope.base, 1e6);
}

TEST(HfConfig, Gemma3TextOfAModelForImagesHasDefaults) {
  const ModelConfig config = read_hf_config(kGemma3);
  EXPECT_EQ(config.architecture, "gemma3");
  EXPECT_EQ(config.layers, 34);
  EXPECT_EQ(config.q_heads, 8);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.vocab, 262208);
  EXPECT_EQ(config.context, 131072);
  EXPECT_EQ(config.rms_eps, 1e-6F);
  EXPECT_EQ(config.norm_offset, 1.0F);
  EXPECT_EQ(config.attention_scale, 0.0625F);
  EXPECT_EQ(config.embedding_scale, static_cast<float>(std::sqrt(2560.0)));
  EXPECT_EQ(config.activation, Activation::gelu_tanh);
  EXPECT_TRUE(config.tied_output && config.qk_norm && config.post_norms);
  ASSERT_EQ(config.kinds.size(), 2U);
  EXPECT_EQ(config.kinds[0].window, 1024);
  EXPECT_EQ(config.kinds[0].rope.base, 1e4);
  EXPECT_EQ(config.kinds[0].rope.scaling, "");
  EXPECT_EQ(config.kinds[1].rope.base, 1e6);
  EXPECT_EQ(config.kinds[1].rope.scaling, "linear x8");
  EXPECT_EQ(std::ranges::count(config.kind_of_layer, 1), 5);
  EXPECT_EQ(config.kind_of_layer[5], 1);
}

TEST(HfConfig, Gemma3AlonePatternsAndScales) {
  const Json json = with(tiny_hf_config("Gemma3ForCausalLM"), "query_pre_attn_scalar", 168);
  EXPECT_EQ(read(json).attention_scale, static_cast<float>(1.0 / std::sqrt(168.0)));
  const auto kinds = [&](const char* name, const Json& value) {
    return read(with(json, name, value)).kind_of_layer;
  };
  EXPECT_EQ(kinds("sliding_window_pattern", 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(kinds("_sliding_window_pattern", 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(kinds("layer_types", {"full_attention", "sliding_attention"}),
            (std::vector<int>{1, 0}));
}

TEST(HfConfig, NewSpellingOfRotaryParameters) {
  const ModelConfig llama = read(with(tiny_hf_config(), "rope_parameters",
                                      {{"rope_type", "yarn"},
                                       {"rope_theta", 1e6},
                                       {"factor", 4.0},
                                       {"original_max_position_embeddings", 16},
                                       {"attention_factor", 1.5},
                                       {"beta_fast", 16},
                                       {"truncate", false}}));
  YarnScaling scaling{.factor = 4.0, .original_context = 16.0, .beta_fast = 16.0};
  scaling.whole_pairs = false;
  EXPECT_EQ(llama.kinds[0].rope.frequencies, yarn_rope(1e6, 4, scaling).frequencies);
  EXPECT_EQ(llama.kinds[0].rope.magnitude, 1.5);
  const Json both = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 2}, {"rope_theta", 5e5}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 2e4}}}};
  Json json = with(tiny_hf_config("Gemma3ForCausalLM"), "rope_parameters", both);
  const ModelConfig gemma = read(with(json, "sliding_window_pattern", 2));
  EXPECT_EQ(gemma.kinds[0].rope.base, 2e4);
  EXPECT_EQ(gemma.kinds[1].rope.base, 5e5);
  EXPECT_EQ(gemma.kinds[1].rope.scaling, "linear x2");
}

TEST(HfConfig, OldSpellingOfRotaryScaling) {
  const Json old = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(read(with(tiny_hf_config(), "rope_scaling", old)).kinds[0].rope.scaling, "linear x2");
}

void expect_same(const ModelConfig& config, const Json& expected, const std::string& name) {
  EXPECT_EQ(config.layers, expected["num_hidden_layers"]) << name;
  EXPECT_EQ(config.width, expected["hidden_size"]) << name;
  EXPECT_EQ(config.ffn_width, expected["intermediate_size"]) << name;
  EXPECT_EQ(config.q_heads, expected["num_attention_heads"]) << name;
  EXPECT_EQ(config.kv_heads, expected["num_key_value_heads"]) << name;
  EXPECT_EQ(config.head_dim, expected["head_dim"]) << name;
  EXPECT_EQ(config.vocab, expected["vocab_size"]) << name;
  EXPECT_EQ(config.context, expected["max_position_embeddings"]) << name;
  EXPECT_EQ(config.tied_output, expected["tie_word_embeddings"]) << name;
  EXPECT_EQ(config.rms_eps, expected["rms_norm_eps"].get<float>()) << name;
  const auto scalar = expected["scalar"].get<double>();
  EXPECT_EQ(config.attention_scale, static_cast<float>(1.0 / std::sqrt(scalar))) << name;
  ASSERT_EQ(config.kind_of_layer.size(), expected["windows"].size()) << name;
  for (std::size_t i = 0; i < config.kind_of_layer.size(); ++i) {
    const LayerKind& kind = config.kinds.at(static_cast<std::size_t>(config.kind_of_layer[i]));
    EXPECT_EQ(kind.window, expected["windows"][i]) << name << " layer " << i;
    EXPECT_EQ(kind.rope.base, expected["bases"][i]) << name << " layer " << i;
  }
}

// What transformers makes of the files that it saves: config_vectors.py.
TEST(HfConfig, IsWhatTransformersReads) {
  std::ifstream file(HEADWISE_MODEL_TEST_DATA "/configurations.json");
  const Json cases = Json::parse(file);
  EXPECT_GE(cases.size(), 10U);
  for (const auto& [name, value] : cases.items()) {
    expect_same(read(value["saved"]), value["expected"], name);
  }
}

TEST(HfConfig, ModelTypeStandsForTheArchitecture) {
  Json json = with(tiny_hf_config(), "model_type", "qwen2");
  json.erase("architectures");
  EXPECT_EQ(read(json).architecture, "qwen2");
}

void expect_refused(const Json& json, const std::string& message) {
  EXPECT_EQ(error_of([&] { read(json); }), message);
}

TEST(HfConfig, RefusesFieldsByName) {
  const Json tiny = tiny_hf_config();
  expect_refused(with(tiny, "architectures", {"MixtralForCausalLM"}),
                 "architecture 'MixtralForCausalLM' is not supported");
  for (const auto* name : {"quantization_config", "num_local_experts", "final_logit_softcapping",
                           "sliding_window", "attention_multiplier"}) {
    expect_refused(with(tiny, name, 8), concat("field '", name, "' is not supported"));
    EXPECT_EQ(error_of([&] { read(with(tiny, name, nullptr)); }), "") << name;
  }
  expect_refused(with(tiny, "hidden_act", "gelu"),
                 "field 'hidden_act' is 'gelu': only silu is supported");
  expect_refused(with(tiny, "attention_bias", true),
                 "field 'attention_bias' is true, which is not supported");
  expect_refused(with(tiny, "partial_rotary_factor", 0.5),
                 "field 'partial_rotary_factor' is 0.5: only whole heads are turned");
  expect_refused(with(tiny, "head_dim", 3), "the head dimension 3 is odd");
  expect_refused(with(tiny, "num_key_value_heads", 3),
                 "field 'num_attention_heads' 4 is not a multiple of num_key_value_heads 3");
  Json json = tiny;
  json.erase("rms_norm_eps");
  expect_refused(json, "field 'rms_norm_eps' is missing");
  const Json gemma = tiny_hf_config("Gemma3ForCausalLM");
  expect_refused(with(gemma, "attn_logit_softcapping", 50.0),
                 "field 'attn_logit_softcapping' is not supported");
  expect_refused(with(gemma, "layer_types", {"full_attention"}),
                 "field 'layer_types' has 1 values for 2 layers");
  expect_refused(with(gemma, "layer_types", {"full_attention", "linear_attention"}),
                 "field 'layer_types' holds 'linear_attention': full_attention and "
                 "sliding_attention are supported");
  expect_refused(with(gemma, "sliding_window", nullptr),
                 "field 'sliding_window' is missing, which layers have");
}

TEST(HfConfig, RefusesNumbersByName) {
  const Json tiny = tiny_hf_config();
  const auto width = [&](const Json& value) { return with(tiny, "hidden_size", value); };
  expect_refused(width(-8), "field 'hidden_size' is negative");
  expect_refused(width(8.0), "field 'hidden_size' is not an integer");
  expect_refused(width("8"), "field 'hidden_size' is not an integer");
  expect_refused(width(0), "field 'hidden_size' is out of range: 0");
  expect_refused(width(1ULL << 40), "field 'hidden_size' is out of range: 1099511627776");
  expect_refused(with(tiny, "num_hidden_layers", 1 << 20),
                 "field 'num_hidden_layers' is out of range: 1048576");
  expect_refused(with(tiny, "rope_theta", -1), "field 'rope_theta' is out of range: -1");
  expect_refused(with(tiny, "rms_norm_eps", "x"), "field 'rms_norm_eps' is not a number");
}

TEST(HfConfig, RefusesRotaryFieldsByName) {
  const Json tiny = tiny_hf_config();
  const auto scaling = [&](const Json& value) { return with(tiny, "rope_scaling", value); };
  expect_refused(scaling({{"rope_type", "dynamic"}, {"factor", 2.0}}),
                 "field 'rope_scaling.rope_type' is 'dynamic': default, linear, llama3 and yarn "
                 "are supported");
  expect_refused(scaling({{"type", "linear"}}), "field 'rope_scaling.factor' is missing");
  expect_refused(scaling({{"type", "linear"}, {"factor", 0.5}}),
                 "field 'rope_scaling.factor' is out of range: 0.5");
  expect_refused(scaling({{"type", "yarn"}, {"factor", 2}, {"mscale", 1.0}}),
                 "field 'rope_scaling.mscale' is not supported");
  expect_refused(scaling({{"type", "yarn"}, {"rope_type", "linear"}, {"factor", 2}}),
                 "field 'rope_scaling.type' is not the same as rope_type");
  expect_refused(
      scaling({{"type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}),
      "field 'rope_scaling.high_freq_factor' is not above low_freq_factor");
  expect_refused(scaling("linear"), "field 'rope_scaling' is not a JSON object");
  expect_refused(with(scaling({{"type", "linear"}, {"factor", 2}}), "rope_parameters",
                      {{"rope_type", "default"}}),
                 "fields 'rope_parameters' and 'rope_scaling' exclude one another");
}

}  // namespace
}  // namespace headwise
