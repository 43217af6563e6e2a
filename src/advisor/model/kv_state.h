#pragma once

#include <cstdint>

#include "advisor/model/model_description.h"
#include "headwise/dtype.h"

namespace headwise {

/// What attention keeps of the tokens that it has seen, in bytes of one request, by theory: no
/// pages. K and V have the cache's type, with an f32 scale a token and head for each of them where
/// it is i8. Linear attention's state is f32 and its convolution's bf16, whatever the cache's type.
struct KvState {
  std::int64_t growing_per_token = 0;   ///< in layers that keep all tokens
  std::int64_t windowed_per_token = 0;  ///< in layers that keep a window's or a chunk's
  std::int64_t constant = 0;            ///< states of linear attention
  /// What is counted where no notice is taken of the model's design: K and V of all KV heads, MLA's
  /// as if they were not stored as a latent, in all layers, linear ones as the largest other one.
  std::int64_t naive_per_token = 0;
};

/// Sources: 2 layers Hkv d bytes (GQA); layers (kv_lora + rope) bytes, once (MLA; DeepSeek-V2,
/// 2.1.4), and an indexer's key beside it; layers (Hv dk dv 4 + (Hv dv + 2 Hk dk) (conv - 1) 2).
KvState kv_state(const ModelDescription& model, DType kv_type);

/// Tokens that a layer of this span keeps of `context`.
std::int64_t kept_tokens(const AttentionSpan& span, std::int64_t context);

/// All that one request of `context` tokens keeps.
std::int64_t kv_bytes(const ModelDescription& model, DType kv_type, std::int64_t context);

}  // namespace headwise
