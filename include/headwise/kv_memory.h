#pragma once

#include <cstdint>
#include <span>

#include "headwise/attention_shape.h"

namespace headwise {

/// Layers of a model that share an AttentionShape.
struct LayerGroup {
  AttentionShape shape;
  int layers = 0;
};

/// Bytes of K and V that one token takes in all layers of a group: 2 x layers x kv_heads x
/// head_dim x bytes an element where both dimensions are equal, K alone for absorbed MLA, and two
/// f32 scales a KV head and layer for int8 (one for absorbed MLA). Throws Error(invalid_input) on a
/// bad group.
std::int64_t kv_bytes_per_token(const LayerGroup& group);

/// Tokens that a sequence of `context` tokens must keep in a group: all of them, or the window's,
/// the newest token included.
std::int64_t kept_tokens(const AttentionShape& shape, std::int64_t context);

/// What a sequence of `context` tokens needs by theory: tokens that are kept times their bytes,
/// over all groups.
std::int64_t theoretical_kv_bytes(std::span<const LayerGroup> groups, std::int64_t context);

/// What pages take for it in a KvCache, at rest: whole pages, of a windowed group those that the
/// next token's window reaches.
std::int64_t allocated_kv_bytes(std::span<const LayerGroup> groups, std::int64_t context,
                                int page_size);

}  // namespace headwise
