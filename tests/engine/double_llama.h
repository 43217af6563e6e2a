#pragma once

#include <span>
#include <vector>

#include "engine/llama_weights.h"
#include "model/tokenizer.h"

namespace headwise {

/// The logits after the last of `tokens`, in plain loops in double over the whole sequence: no
/// cache, no pages, no library. Shares nothing with the engine but the weights.
std::vector<double> logits_in_double(const LlamaWeights& weights, std::span<const TokenId> tokens);

/// `count` greedy tokens behind `prompt`.
std::vector<TokenId> greedy_in_double(const LlamaWeights& weights, std::vector<TokenId> prompt,
                                      int count);

}  // namespace headwise
