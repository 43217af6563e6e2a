#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

/// Where the two numbers of a rotary pair lie in a head of n rotated dimensions.
enum class RopePairs : std::uint8_t {
  neighbours,  ///< 2i and 2i + 1: Llama's q and k in GGUF files, whose rows are permuted for it
  halves,      ///< i and i + n / 2: everywhere else
};

/// How positions turn a head: pair i by position * frequencies[i], cosine and sine times magnitude.
struct RopeConfig {
  double base = 10000.0;
  std::string scaling;              ///< "" for none, else for people: "llama3 x8 from 8192"
  std::vector<double> frequencies;  ///< radians a position, [rotated dimensions / 2]
  double magnitude = 1.0;
};

/// What a layer's attention sees and how it is turned. Layers that share it form a layer group.
struct LayerKind {
  int window = 0;  ///< keys that a token sees, itself included; 0: all before it
  RopeConfig rope;
};

enum class Activation : std::uint8_t { silu, gelu_tanh };

/// What a decoder-only model computes, without its weights, as the Llama, Mistral, Qwen2, Qwen3 and
/// Gemma 3 families do: x += attention(norm(x)); x += down(activation(gate(norm(x))) *
/// up(norm(x))). Counts are at least 1.
struct ModelConfig {
  std::string architecture;  ///< as the file spells it: "llama", "qwen2", "qwen3", "gemma3", ...
  int layers = 0;
  int width = 0;      ///< of the residual stream
  int ffn_width = 0;  ///< of the gated feed-forward
  int q_heads = 0;
  int kv_heads = 0;              ///< divides q_heads
  int head_dim = 0;              ///< of q, k and v alike; even; all of it is rotated
  int vocab = 0;                 ///< tokens
  int context = 0;               ///< longest sequence the model is made for, in tokens
  float rms_eps = 0.0F;          ///< added to the mean square
  float attention_scale = 0.0F;  ///< of logits
  float embedding_scale = 1.0F;  ///< of embeddings, where they enter the residual stream
  float norm_offset =
      0.0F;  ///< added to stored norm weights: 1 where a file stores Gemma's as w - 1
  Activation activation = Activation::silu;
  RopePairs rope_pairs = RopePairs::halves;
  bool qkv_bias = false;    ///< q, k and v have biases
  bool qk_norm = false;     ///< RMS norm of each head of q and k, before they are turned
  bool post_norms = false;  ///< RMS norm of what attention and feed-forward add, before it is added
  bool tied_output = false;        ///< the output matrix is token_embd.weight, [vocab, width]
  std::vector<LayerKind> kinds;    ///< at least one
  std::vector<int> kind_of_layer;  ///< [layers], into kinds
};

}  // namespace headwise
