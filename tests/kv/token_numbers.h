#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headwise/attention_shape.h"
#include "headwise/prefix_key.h"

namespace headwise {

/// A sequence's tokens as a model sees them. What K and V of a token come from is one number, its
/// past: all tokens up to it, the adapter, and the images that lie in their place. Texts that
/// differ in any of these have other K and V from there on.
class TokenText {
 public:
  explicit TokenText(PrefixKey key = {});

  const PrefixKey& key() const { return key_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  std::int32_t length() const { return static_cast<std::int32_t>(tokens_.size()); }
  std::span<const std::uint64_t> pasts() const { return pasts_; }  ///< of each token

  void push(std::int32_t token);
  void cut(std::int32_t length);

 private:
  PrefixKey key_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint64_t> pasts_;
};

/// Where K or V is: the same past has other numbers in each.
struct NumberPlace {
  int group = 0;
  int layer = 0;
  bool of_v = false;
};

/// A number of a token's K or V, within +-1.
float token_number(std::uint64_t past, const NumberPlace& place, int head, int element);

/// [tokens, kv_heads, head_dim] of tokens with these pasts, behind what `rows` holds.
void add_token_rows(std::span<const std::uint64_t> pasts, const AttentionShape& shape,
                    const NumberPlace& place, std::vector<float>& rows);

}  // namespace headwise
