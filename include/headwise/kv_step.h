#pragma once

#include <cstdint>
#include <span>

#include "headwise/backend.h"
#include "headwise/step_batch.h"

namespace headwise {

class KvCache;

/// A sequence of one KvCache. The default one is none.
struct SequenceId {
  std::int32_t row = -1;
  std::uint64_t serial = 0;

  friend bool operator==(const SequenceId&, const SequenceId&) = default;
};

/// What one sequence takes part in a step with.
struct KvRequest {
  SequenceId sequence;
  std::int32_t new_tokens = 0;  ///< 0: it is read only
  /// All tokens of the sequence, the new ones included, so that others that begin alike may use
  /// their pages after the commit. They must outlive the step. Empty: nobody may.
  std::span<const std::int32_t> tokens = {};
};

/// A step of some of a cache's sequences: pages are there for the new tokens, to be filled by
/// append_kv, but the sequences have their old lengths until commit(). Ends by commit() or
/// rollback(), or is rolled back when the object goes; a rolled back step leaves no trace but in
/// counters, in key bounds, which may be looser, and in cached pages given up for it. The cache
/// must outlive it.
class KvStep {
 public:
  KvStep() = default;
  KvStep(KvStep&& other) noexcept;
  KvStep& operator=(KvStep&& other) noexcept;
  ~KvStep();

  explicit operator bool() const { return cache_ != nullptr; }  ///< whether it is open

  /// The cache whose sequences take part. Throws Error(invalid_input) where the step has ended.
  const KvCache& cache() const { return open(); }

  // For StepBatch, valid until the step ends; tables lie on the cache's device.
  std::span<const std::int32_t> q_lens() const;   ///< [requests] new tokens
  std::span<const std::int32_t> kv_lens() const;  ///< [requests] tokens, the new ones included
  BlockTables tables(int group) const;

  /// Fills in q_lens, kv_lens, layout and tables; no prefix is known, and q_start is the default.
  void describe(int group, StepBatch& step) const;

  /// Behind describe(): fills in prefix_group and prefix_tokens, requests whose tables begin with
  /// the same pages, which backends may read once for all of them. Compares the tables: some ns a
  /// shared page. Valid until the step ends or this is called again.
  void describe_prefixes(int group, StepBatch& step) const;

  /// Writes a layer's K and V of the new tokens into the pages, converted, as Backend::append_kv
  /// does: `k` is [tokens, kv_heads, head_dim_qk], `v` the same with head_dim_v, request after
  /// request. Throws Error(invalid_input) where a layer of f8e4m3 has no scales, too.
  void append_kv(const Backend& backend, int group, int layer, const TensorView& k,
                 const TensorView& v, void* stream = nullptr);

  /// The sequences have their new tokens. Pages that windows have passed are released, full pages
  /// become known to the prefix cache. Never fails.
  void commit();
  /// The same with the first accepted[r] new tokens of each request only, as speculative decoding
  /// needs it. Throws Error(invalid_input) where there are not as many; the step stays open then.
  void commit(std::span<const std::int32_t> accepted);

  /// The sequences are as if the step had never begun.
  void rollback() noexcept;

 private:
  friend class KvCache;
  explicit KvStep(KvCache& cache) : cache_(&cache) {}
  KvCache& open() const;

  KvCache* cache_ = nullptr;
};

}  // namespace headwise
