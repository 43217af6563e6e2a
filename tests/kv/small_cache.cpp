#include "tests/kv/small_cache.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/check.h"

namespace headwise {

void SmallCache::write(SequenceId sequence, const Tokens& tokens, const PrefixKey& key) {
  const auto hashes = prefix_hashes(tokens, key);
  const auto first = static_cast<std::size_t>(cache.length(sequence));
  for (int group = 0; group < cache.groups(); ++group)
    content.write_all(group, cache.pages(sequence, group), tokens, hashes, first);
}

void SmallCache::grow(SequenceId sequence, const Tokens& tokens, const PrefixKey& key, bool told) {
  KvRequest request{sequence, static_cast<std::int32_t>(tokens.size()) - cache.length(sequence)};
  if (told) request.tokens = tokens;
  KvStep step = cache.begin({&request, 1});
  write(sequence, tokens, key);
  step.commit();
}

void SmallCache::remember(const Tokens& tokens, const PrefixKey& key) {
  const SequenceId sequence = cache.create(key);
  grow(sequence, tokens, key);
  cache.free(sequence);
}

std::int32_t SmallCache::reused(const Tokens& prompt, const PrefixKey& key) {
  const PrefixHit hit = cache.create(prompt, key);
  expect_content(hit.sequence, prompt, key);
  EXPECT_EQ(cache.length(hit.sequence), hit.reused_tokens);
  cache.free(hit.sequence);
  return hit.reused_tokens;
}

void SmallCache::expect_content(SequenceId sequence, const Tokens& tokens, const PrefixKey& key) {
  const auto length = static_cast<std::size_t>(cache.length(sequence));
  ASSERT_LE(length, tokens.size());
  const auto hashes = prefix_hashes(tokens, key);
  for (int group = 0; group < cache.groups(); ++group)
    EXPECT_EQ(content.first_wrong(group, cache.pages(sequence, group),
                                  std::span(tokens).first(length), hashes),
              -1)
        << "group " << group;
}

std::int64_t SmallCache::pages(std::int64_t KvUsage::*bytes, int group) const {
  const KvUsage usage = cache.usage(group);
  const std::int64_t all = cache.options().groups[static_cast<std::size_t>(group)].pages;
  return usage.*bytes / (usage.reserved / all);
}

KvCacheOptions small_options(std::vector<KvGroupOptions> groups, int page_size) {
  KvCacheOptions options;
  options.groups = std::move(groups);
  options.page_size = page_size;
  options.max_sequences = 8;
  options.max_tokens = 64;
  options.hash_seed = 1;
  return options;
}

std::string seen(const KvUsage& usage) {
  return concat("reserved ", usage.reserved, " used ", usage.used, " shared ", usage.shared,
                " cached ", usage.cached, " free ", usage.free, "\n");
}

std::string seen(const KvCounters& counters) {
  return concat("lookups ", counters.lookups, " of ", counters.queried_tokens, " hits ",
                counters.hits, " of ", counters.reused_tokens, " partial ", counters.partial_hits,
                " stored ", counters.stored_pages, " evicted ", counters.evictions, " and ",
                counters.evicted_window_pages, " copied ", counters.copies_on_write, "\n");
}

std::string seen(const KvCache& cache, std::span<const SequenceId> sequences) {
  std::string text = concat(cache.sequences(), " sequences\n");
  for (const SequenceId sequence : sequences) {
    text += concat("length ", cache.length(sequence), ":");
    for (int group = 0; group < cache.groups(); ++group) {
      text += concat(" group ", group);
      for (const std::int32_t page : cache.pages(sequence, group)) text += concat(" ", page);
    }
    text += "\n";
  }
  for (int group = 0; group < cache.groups(); ++group) text += seen(cache.usage(group));
  return text + seen(cache.counters());
}

Tokens counted(std::int32_t first, int count) {
  Tokens tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace headwise
