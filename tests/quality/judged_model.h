#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/token_id.h"
#include "ops/weight_matrix.h"

namespace headwise::quality {

/// What is under judgement: a language model, and one text at a time.
class JudgedModel {
 public:
  virtual ~JudgedModel() = default;

  /// What is asked of it depends on how it computes.
  virtual Maths maths() const = 0;

  /// Forgets the text.
  virtual void begin() = 0;

  /// Appends tokens to the text; returns the logits behind the last, valid until the next call.
  virtual std::span<const float> last_logits(std::span<const TokenId> tokens) = 0;

  /// The same, with the logits behind each token in order.
  virtual void each_logits(std::span<const TokenId> tokens,
                           const std::function<void(std::span<const float>)>& row) = 0;

  /// Of the cache that holds the text.
  virtual std::int64_t kv_bytes() const { return 0; }

  /// No BOS.
  virtual std::vector<TokenId> encode(std::string_view text) const = 0;
};

}  // namespace headwise::quality
