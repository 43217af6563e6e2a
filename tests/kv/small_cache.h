#pragma once

#include <span>
#include <string>
#include <vector>

#include "headwise/kv_cache.h"
#include "tests/kv/page_content.h"

namespace headwise {

/// A cache of small groups, and all that its pages should hold.
class SmallCache {
 public:
  explicit SmallCache(const KvCacheOptions& options) : cache(options), content(cache) {}

  /// A sequence grows by a step of its own. `tokens` are all that it has then, `key` are the extras
  /// that it was made with.
  void grow(SequenceId sequence, const Tokens& tokens, const PrefixKey& key = {}, bool told = true);

  /// A new sequence of these tokens, which then ends: the prefix cache alone has them.
  void remember(const Tokens& tokens, const PrefixKey& key = {});

  /// What create() reuses for a prompt; the sequence ends. What it held is what was written.
  std::int32_t reused(const Tokens& prompt, const PrefixKey& key = {});

  /// Writes the new tokens of a step's request, of which `tokens` are the last.
  void write(SequenceId sequence, const Tokens& tokens, const PrefixKey& key = {});

  /// Fails the test where a page of the sequence, whose tokens are told, holds something else.
  void expect_content(SequenceId sequence, const Tokens& tokens, const PrefixKey& key = {});

  std::int64_t pages_used(int group = 0) const { return pages(&KvUsage::used, group); }
  std::int64_t pages_shared(int group = 0) const { return pages(&KvUsage::shared, group); }
  std::int64_t pages_cached(int group = 0) const { return pages(&KvUsage::cached, group); }
  std::int64_t pages_free(int group = 0) const { return pages(&KvUsage::free, group); }

  KvCache cache;
  PageContent content;

 private:
  std::int64_t pages(std::int64_t KvUsage::*bytes, int group) const;
};

KvCacheOptions small_options(std::vector<KvGroupOptions> groups, int page_size = 4);

/// All that a caller can see of a cache and these sequences, but for what is in the pages.
std::string seen(const KvCache& cache, std::span<const SequenceId> sequences);
std::string seen(const KvUsage& usage);
std::string seen(const KvCounters& counters);

/// first, first + 1, ...
Tokens counted(std::int32_t first, int count);
Tokens joined(Tokens a, const Tokens& b);

}  // namespace headwise
