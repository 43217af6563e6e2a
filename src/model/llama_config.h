#pragma once

namespace headwise {

class GgufFile;

/// What a Llama-architecture model computes, without its weights. Counts are at least 1.
///
/// In a GGUF file of this architecture the rows of attn_q and attn_k are ordered so that a rotary
/// pair is two neighbours: dimensions 2i and 2i + 1 of a head turn by position * rope_base^(-2i /
/// head_dim).
struct LlamaConfig {
  int layers = 0;
  int width = 0;      ///< of the residual stream
  int ffn_width = 0;  ///< of the gated feed-forward: down(silu(gate(x)) * up(x))
  int q_heads = 0;
  int kv_heads = 0;  ///< divides q_heads
  int head_dim = 0;  ///< of q, k and v alike; even; all of it is rotated
  int vocab = 0;     ///< tokens
  int context = 0;   ///< longest sequence the model was trained for, in tokens
  double rope_base = 10000.0;
  float rms_eps = 0.0F;      ///< added to the mean square
  bool tied_output = false;  ///< the output matrix is token_embd.weight, [vocab, width]
};

/// Throws Error naming the key: architecture other than llama, key missing or out of range, or a
/// llama.* key that is not understood, since leaving it out could change the result.
LlamaConfig read_llama_config(const GgufFile& file);

}  // namespace headwise
