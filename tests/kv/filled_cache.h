#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "headwise/kv_cache.h"
#include "tests/conformance/random.h"
#include "tests/kv/exact_attention.h"
#include "tests/kv/token_numbers.h"

namespace headwise {

/// A cache of sequences of random tokens, whose K and V are those of their pasts.
class FilledCache {
 public:
  /// A request of a step: a sequence's number, and how many new tokens.
  using Growth = std::pair<std::size_t, std::int32_t>;
  /// Changes the keys of a new token in one layer, [kv_heads, head_dim_qk], before they are stored.
  using KeyEdit = std::function<void(int group, int layer, std::size_t sequence,
                                     std::int32_t position, std::span<float> keys)>;

  explicit FilledCache(const KvCacheOptions& options);

  KvCache& cache() { return cache_; }
  const AttentionShape& shape(int group) const {
    return cache_.options().groups[std::size_t(group)].group.shape;
  }
  SequenceId id(std::size_t sequence) const { return ids_[sequence]; }
  const TokenText& text(std::size_t sequence) const { return texts_[sequence]; }
  void edit_keys(KeyEdit edit) { edit_ = std::move(edit); }

  std::size_t add(std::int32_t tokens = 0);  ///< a new sequence's number
  std::size_t fork(std::size_t sequence);
  void truncate(std::size_t sequence, std::int32_t length);
  void free(std::size_t sequence);

  /// A step with new tokens whose K and V are appended already. The texts have them, too.
  KvStep begin(const std::vector<Growth>& requests);
  void grow(std::size_t sequence, std::int32_t tokens) { begin({{sequence, tokens}}).commit(); }

  /// [tokens, q_heads, head_dim_qk] random queries of a step.
  std::vector<float> queries(const KvStep& step, int group);

  /// Where request `request` of a step finds its keys.
  StoredKeys stored(const KvStep& step, int group, int layer, std::size_t request) const;

 private:
  void append(KvStep& step, const std::vector<Growth>& requests, int group, int layer);

  KvCache cache_;
  std::vector<SequenceId> ids_;
  std::vector<TokenText> texts_;
  KeyEdit edit_;
  conformance::Rng rng_{17};
};

/// K and V of 2 heads, 6 queries a token.
AttentionShape small_shape(DType q_type, DType kv_type, std::int64_t window_left = -1);

}  // namespace headwise
