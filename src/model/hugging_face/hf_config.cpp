#include "model/hugging_face/hf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/check.h"
#include "model/byte_reader.h"
#include "model/hugging_face/hf_rope.h"
#include "model/json/json_fields.h"
#include "model/json/json_text.h"
#include "model/model_family.h"
#include "model/model_limits.h"

namespace headwise {
namespace {

struct Known {
  const char* architecture;
  const char* model_type;
  const char* family;
};

constexpr std::array<Known, 6> kKnown{{
    {"LlamaForCausalLM", "llama", "llama"},
    {"MistralForCausalLM", "mistral", "mistral"},
    {"Qwen2ForCausalLM", "qwen2", "qwen2"},
    {"Qwen3ForCausalLM", "qwen3", "qwen3"},
    {"Gemma3ForCausalLM", "gemma3_text", "gemma3"},
    {"Gemma3ForConditionalGeneration", "gemma3", "gemma3"},
}};

// Fields that do not change what a forward pass computes.
constexpr std::array<std::string_view, 37> kHarmless{"_attn_implementation_autoset",
                                                     "_name_or_path",
                                                     "add_cross_attention",
                                                     "attention_dropout",
                                                     "attn_implementation",
                                                     "boi_token_index",
                                                     "bos_token_id",
                                                     "cache_implementation",
                                                     "dtype",
                                                     "eoi_token_index",
                                                     "eos_token_id",
                                                     "hidden_dropout",
                                                     "id2label",
                                                     "image_token_index",
                                                     "initializer_range",
                                                     "is_decoder",
                                                     "is_llama_config",
                                                     "label2id",
                                                     "max_length",
                                                     "max_sequence_length",
                                                     "mm_tokens_per_image",
                                                     "output_attentions",
                                                     "output_hidden_states",
                                                     "pad_token_id",
                                                     "pretraining_tp",
                                                     "return_dict",
                                                     "sep_token_id",
                                                     "task_specific_params",
                                                     "tie_encoder_decoder",
                                                     "torch_dtype",
                                                     "transformers.js_config",
                                                     "transformers_version",
                                                     "unsloth_fixed",
                                                     "unsloth_version",
                                                     "use_cache",
                                                     "use_return_dict",
                                                     "vision_config"};

std::string family_of(JsonFields& fields) {
  if (!fields.has("architectures")) {
    const std::string type = fields.string("model_type");
    const auto* found = std::ranges::find(kKnown, type, &Known::model_type);
    check(found != kKnown.end(), "model_type ", quoted_name(type), " is not supported");
    return found->family;
  }
  const std::vector<std::string> names = fields.strings("architectures", 1);
  const std::string name = names.empty() ? "" : names.front();
  const auto* found = std::ranges::find(kKnown, name, &Known::architecture);
  check(found != kKnown.end(), "architecture ", quoted_name(name), " is not supported");
  fields.has("model_type");
  return found->family;
}

bool is_gemma3(const ModelConfig& config) { return config.architecture == "gemma3"; }

/// Gemma 3's text configuration leaves fields out that have their default, others do not.
int count(JsonFields& fields, const ModelConfig& config, const char* name, int most, int gemma3) {
  return is_gemma3(config) ? fields.count_or(name, most, gemma3) : fields.count(name, most);
}

void read_sizes(JsonFields& fields, ModelConfig& config) {
  config.layers = count(fields, config, "num_hidden_layers", kMostLayers, 26);
  config.width = count(fields, config, "hidden_size", kLargestWidth, 2304);
  config.ffn_width = count(fields, config, "intermediate_size", kLargestFfnWidth, 9216);
  config.vocab = count(fields, config, "vocab_size", kLargestCount, 262208);
  config.context = count(fields, config, "max_position_embeddings", kLargestCount, 131072);
  constexpr auto kEps = "rms_norm_eps";
  config.rms_eps = static_cast<float>(is_gemma3(config) ? fields.number_or(kEps, 0.0, 1e-6)
                                                        : fields.number(kEps, 0.0));
}

void read_heads(JsonFields& fields, ModelConfig& config) {
  config.q_heads = count(fields, config, "num_attention_heads", kMostHeads, 8);
  config.kv_heads =
      fields.count_or("num_key_value_heads", kMostHeads, is_gemma3(config) ? 4 : config.q_heads);
  check(config.q_heads % config.kv_heads == 0, "field 'num_attention_heads' ", config.q_heads,
        " is not a multiple of num_key_value_heads ", config.kv_heads);
  if (is_gemma3(config) || config.architecture == "qwen3") {
    config.head_dim = fields.count_or("head_dim", kLargestHeadDim, is_gemma3(config) ? 256 : 128);
  } else {
    check(fields.has("head_dim") || config.width % config.q_heads == 0, "field 'hidden_size' ",
          config.width, " is not a multiple of num_attention_heads ", config.q_heads);
    config.head_dim = fields.count_or("head_dim", kLargestHeadDim, config.width / config.q_heads);
  }
  check(config.head_dim % 2 == 0 && config.head_dim <= kLargestHeadDim, "the head dimension ",
        config.head_dim, config.head_dim % 2 == 0 ? " is out of range" : " is odd");
}

void check_activation(JsonFields& fields, const ModelConfig& config) {
  const std::string expected = is_gemma3(config) ? "gelu_pytorch_tanh" : "silu";
  for (const auto* name : {"hidden_act", "hidden_activation"}) {
    const std::string found = fields.string_or(name, expected);
    check(found == expected, "field ", fields.full(name), " is ", quoted_name(found), ": only ",
          expected, " is supported");
  }
}

void check_absent_features(JsonFields& fields) {
  for (const auto* name : {"attention_bias", "mlp_bias", "rope_interleaved",
                           "use_bidirectional_attention", "use_mrope"}) {
    check(!fields.boolean_or(name, false), "field ", fields.full(name),
          " is true, which is not supported");
  }
}

/// [layers], or nothing where the file does not list them.
std::vector<bool> read_layer_types(JsonFields& fields, int layers) {
  if (!fields.has("layer_types")) return {};
  const std::vector<std::string> types = fields.strings("layer_types", kMostLayers);
  check(std::ssize(types) == layers, "field 'layer_types' has ", types.size(), " values for ",
        layers, " layers");
  std::vector<bool> is_windowed;
  for (const std::string& type : types) {
    const bool windowed = type == "sliding_attention";
    check(windowed || type == "full_attention", "field 'layer_types' holds ", quoted_name(type),
          ": full_attention and sliding_attention are supported");
    is_windowed.push_back(windowed);
  }
  return is_windowed;
}

/// transformers' default of 4096 is for where the field is left out; null is for no window.
int read_window(JsonFields& fields) {
  constexpr auto kWindow = "sliding_window";
  const auto names = fields.names();
  const bool left_out = std::ranges::find(names, kWindow) == names.end();
  return left_out ? 4096 : fields.has(kWindow) ? fields.count(kWindow, kLargestCount) : 0;
}

struct Windows {
  int window = 0;
  std::vector<bool> is_windowed;  // [layers]
};

Windows gemma3_windows(JsonFields& fields, int layers) {
  Windows windows{.window = read_window(fields), .is_windowed = read_layer_types(fields, layers)};
  const int otherwise = fields.count_or("_sliding_window_pattern", kLargestCount, 6);
  const int pattern = fields.count_or("sliding_window_pattern", kLargestCount, otherwise);
  if (windows.is_windowed.empty()) windows.is_windowed = windowed_but_every(layers, pattern);
  return windows;
}

Windows qwen_windows(JsonFields& fields, int layers) {
  const bool used = fields.boolean_or("use_sliding_window", false);
  const int window = read_window(fields);
  const int first =
      fields.has("max_window_layers") ? fields.integer("max_window_layers", 0, kLargestCount) : 28;
  Windows windows{.window = used ? window : 0, .is_windowed = read_layer_types(fields, layers)};
  if (windows.is_windowed.empty()) {
    for (int layer = 0; layer < layers; ++layer) {
      windows.is_windowed.push_back(windows.window > 0 && layer >= first);
    }
  }
  return windows;
}

Windows read_windows(JsonFields& fields, const ModelConfig& config) {
  if (config.architecture == "llama") return {0, std::vector<bool>(config.layers, false)};
  if (is_gemma3(config)) return gemma3_windows(fields, config.layers);
  if (config.architecture.starts_with("qwen")) return qwen_windows(fields, config.layers);
  const int window = read_window(fields);
  return {window, std::vector<bool>(config.layers, window > 0)};
}

void read_layers(JsonFields& fields, ModelConfig& config) {
  const HfRopes ropes = read_hf_ropes(fields, config);
  const Windows windows = read_windows(fields, config);
  check(windows.window > 0 || std::ranges::count(windows.is_windowed, true) == 0,
        "field 'sliding_window' is missing, which layers have");
  set_kinds(config, {.window = windows.window, .rope = ropes.windowed}, {.rope = ropes.full},
            windows.is_windowed);
}

ModelConfig read_text(JsonFields& fields, const std::string& family, bool usually_tied) {
  ModelConfig config = family_config(family);
  read_sizes(fields, config);
  read_heads(fields, config);
  check_activation(fields, config);
  check_absent_features(fields);
  set_usual_scales(config);
  if (is_gemma3(config)) {
    config.norm_offset = 1.0F;
    const double scalar = fields.number_or("query_pre_attn_scalar", 1e-6, 256.0);
    config.attention_scale = static_cast<float>(1.0 / std::sqrt(scalar));
  }
  config.tied_output = fields.boolean_or("tie_word_embeddings", usually_tied);
  read_layers(fields, config);
  fields.refuse_others(kHarmless);
  return config;
}

}  // namespace

ModelConfig read_hf_config(std::string_view json) {
  const nlohmann::json document = parse_json(json);
  JsonFields fields(document);
  const std::string family = family_of(fields);
  if (family != "gemma3" || !fields.has("text_config")) {
    return read_text(fields, family, family == "gemma3");
  }
  JsonFields text = fields.object("text_config");
  text.has("model_type");
  const bool tied = fields.boolean_or("tie_word_embeddings", true);
  fields.refuse_others(kHarmless);
  return read_text(text, family, tied);
}

}  // namespace headwise
