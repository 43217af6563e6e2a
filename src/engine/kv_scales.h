#pragma once

#include <span>

#include "engine/model_weights.h"
#include "engine/step_attention.h"
#include "headwise/kv_cache.h"
#include "model/tokenizer/token_id.h"

namespace headwise {

/// Gives an f8e4m3 cache the scales of K and V that `tokens` ask for: runs them over a cache of q's
/// type that lives as long as this call. At most attention.max_tokens of them, from the first on.
void find_kv_scales(ModelWeights& weights, KvCache& cache, const AttentionOptions& attention,
                    std::span<const TokenId> tokens);

}  // namespace headwise
