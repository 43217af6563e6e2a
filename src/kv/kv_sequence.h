#pragma once

#include <cstdint>
#include <vector>

#include "headwise/step_batch.h"
#include "kv/page_pool.h"

namespace headwise {

/// One sequence's tokens in a pool: its block table and its length. Gives its pages back when it
/// goes. The pool must outlive it.
///
/// A step reserves room, appends every layer's K and V behind the length, and advances when it has
/// succeeded: what a failed step wrote lies behind the length and is never seen.
class KvSequence {
 public:
  explicit KvSequence(PagePool& pool) : pool_(&pool) {}
  ~KvSequence();
  KvSequence(const KvSequence&) = delete;
  KvSequence& operator=(const KvSequence&) = delete;

  PagePool& pool() const { return *pool_; }
  std::int32_t length() const { return length_; }                    ///< tokens
  const std::vector<std::int32_t>& pages() const { return pages_; }  ///< the block table

  /// Makes room for `tokens` more. Throws Error(not_possible) where the pool has too few pages,
  /// Error(invalid_input) past 2^31 - 1 tokens; nothing has changed then.
  void reserve(std::int64_t tokens);

  /// Counts `tokens` appended tokens in. Throws Error(invalid_input) where no room was made.
  void advance(std::int64_t tokens);

  /// The table for a step of this one request; valid until the next reserve().
  BlockTables tables() const;

 private:
  std::int64_t capacity() const;  // tokens

  PagePool* pool_;
  std::vector<std::int32_t> pages_;
  std::int32_t length_ = 0;
};

}  // namespace headwise
