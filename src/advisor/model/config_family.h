#pragma once

#include <cstdint>
#include <string_view>

namespace headwise {

/// Which layers have which attention where a config.json does not list them in `layer_types`.
enum class LayerPattern : std::uint8_t {
  full,                ///< all of them; a window would need a list
  all_windowed,        ///< Mistral's rule for sliding_window
  windowed_from,       ///< Qwen's: from max_window_layers on, if use_sliding_window
  alternating,         ///< even ones are windowed: Gemma 2, gpt-oss
  windowed_but_every,  ///< each sliding_window_pattern-th is full: Gemma 3 and 4
  linear_but_every,    ///< each full_attention_interval-th is full: Qwen3-Next
  chunked_but_nope,    ///< those without rotary positions are full: Llama 4
  latent,              ///< MLA throughout: DeepSeek
  listed_linear,       ///< linear_attn_config lists KDA's and MLA's: Kimi Linear
};

/// Which layers have experts, and under which name their width stands.
enum class ExpertRule : std::uint8_t {
  none,        ///< the family is dense
  everywhere,  ///< as wide as intermediate_size: Mixtral, gpt-oss
  qwen,        ///< decoder_sparse_step and mlp_only_layers
  deepseek,    ///< first_k_dense_replace and moe_layer_freq
  llama4,      ///< moe_layers or interleave_moe_layer_step; one shared expert as wide
  gemma4,      ///< if enable_moe_block, in all layers, beside a dense one of intermediate_size
  by_fields,   ///< whatever of these the file has
};

/// What the config.json files of a family leave unsaid. Values are transformers' defaults; 0 is
/// none, so that the field must be there.
struct ConfigFamily {
  std::string_view model_type;
  LayerPattern pattern = LayerPattern::full;
  ExpertRule experts = ExpertRule::by_fields;
  bool is_known = true;
  bool head_dim_by_division = false;  ///< hidden_size / num_attention_heads
  bool kv_heads_are_q_heads = false;
  bool tied_embeddings = false;
  bool output_gate = false;
  bool indexer = false;          ///< a sparse indexer must be there
  bool last_is_full = false;     ///< whatever a list says of the last layer
  bool per_layer_input = false;  ///< there is one unless the file says that it is 0 wide
  int window = 0;
  int q_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int global_head_dim = 0;  ///< of layers without a window, where they have heads of their own
  int vocab = 0;
  int context = 0;
};

/// By model_type; one that nobody knows is read by its fields.
ConfigFamily config_family(std::string_view model_type);

}  // namespace headwise
