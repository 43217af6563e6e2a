#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headwise/device_memory.h"
#include "headwise/kv_binding.h"
#include "headwise/kv_memory.h"
#include "headwise/kv_step.h"
#include "headwise/kv_usage.h"
#include "headwise/prefix_key.h"
#include "headwise/step_batch.h"

namespace headwise {

class KvCacheState;

/// A layer group's share of a cache.
struct KvGroupOptions {
  LayerGroup group;
  std::int64_t pages = 0;  ///< in the pool
  /// Windowed groups: tokens behind the window that are kept all the same, so that a sequence can
  /// be cut by as many. One that begins with a cached prefix has only what its window reaches.
  std::int32_t window_slack = 0;
  /// Keeps the least and greatest number of every page's keys, which picking pages by a query needs
  /// (see picked_pages.h): 8 bytes a page, KV head, layer and element of head_dim_qk. CPU only.
  bool key_bounds = false;
};

struct KvCacheOptions {
  std::vector<KvGroupOptions> groups;
  int page_size = 16;           ///< tokens, of all groups
  int max_sequences = 1;        ///< at a time
  int max_requests = 0;         ///< of a step; 0: max_sequences
  std::int32_t max_tokens = 0;  ///< of a sequence
  bool prefix_cache = true;     ///< full pages outlive their sequences, until room is needed
  int min_partial_tokens = 1;   ///< a page is reused in part only from so many tokens on
  std::uint64_t hash_seed = 0;  ///< of the prefix cache; 0: a random one
  const DeviceMemory* memory = nullptr;  ///< must outlive the cache; null: the CPU's
};

/// A sequence that begins with what the prefix cache had of its prompt.
struct PrefixHit {
  SequenceId sequence;
  std::int32_t reused_tokens = 0;  ///< its length: below the prompt's
};

/// The paged K and V of many sequences in all layers of a model, on one device.
///
/// A sequence has a block table in each layer group: entry k is the page that holds tokens
/// k * page_size and on, -1 where the group's window has passed. Pages are counted references:
/// sequences fork without copying, and what is written to is copied first if others hold it.
/// Sequences grow in steps (kv_step.h). With prefix_cache, full pages of sequences whose tokens are
/// told are found again by sequences that begin alike; they are compared token by token.
///
/// Threads: one thread changes the cache. While it does, others may call usage(), and may read
/// sequences that it does not change (length, pages, tables, and the pages themselves: attention
/// over them); to read a sequence that goes on growing, read a fork of it. What another thread may
/// read must have happened before: hand sequences over with the usual means.
///
/// On a GPU all work on a cache belongs on one stream: pages that are given back may be taken by
/// the next step, and there is one set of step tables. Who uses several streams, for attention in
/// another thread, too, orders each behind the one before (events).
///
/// Errors: Error(invalid_input) on a sequence that has ended or is another cache's, a group that
/// there is not, or numbers out of range; Error(not_possible) where pages or sequences run out,
/// with what is needed and what is free. A call that throws has changed nothing, std::bad_alloc
/// included; where the device failed, cached pages may have been given up.
class KvCache {
 public:
  explicit KvCache(const KvCacheOptions& options);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  /// A sequence without tokens.
  SequenceId create(PrefixKey key = {});

  /// A sequence that holds the longest beginning of `prompt` that is cached for `key`, at least one
  /// token left out. Its last page may be one of which it has a part: its next step copies that. Of
  /// many such pages behind the same one, the 32 newest are looked at.
  PrefixHit create(std::span<const std::int32_t> prompt, PrefixKey key = {});

  /// Another sequence of the same tokens. The sequence is in no open step.
  SequenceId fork(SequenceId sequence);

  /// Cuts a sequence, which is in no open step, to its first `length` tokens. Throws
  /// Error(invalid_input) where it is shorter, or a group's window needs pages that it has passed.
  void truncate(SequenceId sequence, std::int32_t length);

  /// Ends a sequence, which is in no open step. Its id is never used again.
  void free(SequenceId sequence);

  std::int32_t length(SequenceId sequence) const;  ///< tokens
  int sequences() const;                           ///< that there are

  /// A sequence's block table in a group, with the pages that an open step took for it; valid until
  /// it ends. Entries change only when it does.
  std::span<const std::int32_t> pages(SequenceId sequence, int group) const;

  /// The same for a step of this one request, on the CPU. The columns have room for max_tokens.
  BlockTables tables(SequenceId sequence, int group) const;

  /// Takes pages for a step, copies those that would be written to and are not the sequence's
  /// alone, on `stream`, and gives up cached ones for it. All requests, or none: where a group has
  /// too few pages the error says how many are needed, free and cached. One step is open at a time.
  KvStep begin(std::span<const KvRequest> requests, void* stream = nullptr);

  const KvCacheOptions& options() const;
  int groups() const;
  /// A layer of a group, for Backend::bind and for AppendArgs.
  KvView layer(int group, int layer) const;
  MutableKvView mutable_layer(int group, int layer);

  /// Scales of a group's layer whose K and V are f8e4m3, as its fp8_scale has them: one, or one a
  /// KV head, each above 0 and finite. They must be set before the layer's first append, and are
  /// frozen while the group holds a page.
  void set_scales(int group, int layer, std::span<const float> k, std::span<const float> v);
  bool has_scales(int group, int layer) const;
  /// For RunArgs and AppendArgs, on the cache's device; null where K and V have other types.
  const float* k_scale(int group, int layer) const;
  const float* v_scale(int group, int layer) const;
  /// Numbers that were beyond what f8e4m3 holds, appended to a group so far. Waits for `stream`.
  std::uint64_t saturated(int group, void* stream = nullptr) const;

  KvUsage usage(int group) const;
  KvCounters counters() const;
  /// Forgets all prefixes; pages that no sequence holds become free.
  void clear_prefixes();

  /// What the cache is made of: for steps and picks of pages.
  KvCacheState& state() { return *state_; }
  const KvCacheState& state() const { return *state_; }

 private:
  std::unique_ptr<KvCacheState> state_;
};

}  // namespace headwise
