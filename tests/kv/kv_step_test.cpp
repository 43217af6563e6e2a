#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "headwise/error.h"
#include "headwise/kv_cache.h"
#include "headwise/picked_pages.h"

namespace headwise {
namespace {

constexpr int kPageSize = 4;

KvCacheOptions small_options() {
  KvCacheOptions options;
  options.groups = {
      {.group = {.shape = {.q_heads = 1, .kv_heads = 1, .head_dim_qk = 2, .head_dim_v = 2},
                 .layers = 1},
       .pages = 64}};
  options.page_size = kPageSize;
  options.max_sequences = 6;
  options.max_tokens = 64;
  return options;
}

void grow(KvCache& cache, SequenceId sequence, std::int32_t tokens) {
  const KvRequest request{.sequence = sequence, .new_tokens = tokens};
  cache.begin({&request, 1}).commit();
}

std::span<const std::int32_t> row_of(const BlockTables& tables, std::int64_t request,
                                     std::size_t entries) {
  return {tables.pages + request * tables.request_stride, entries};
}

TEST(KvStep, TablesAreThoseOfItsSequencesInAnyOrder) {
  KvCache cache(small_options());
  std::vector<SequenceId> sequences;
  for (int i = 0; i < 4; ++i) {
    sequences.push_back(cache.create());
    grow(cache, sequences.back(), 3 + 5 * i);
  }
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 1, 2, 3}, {3, 1, 0}, {1, 3}, {0, 1, 2, 3}}) {
    std::vector<KvRequest> requests;
    for (const int i : order)
      requests.push_back({.sequence = sequences[std::size_t(i)], .new_tokens = i % 2});
    KvStep step = cache.begin(requests);
    for (std::size_t r = 0; r < order.size(); ++r) {
      const auto pages = cache.pages(requests[r].sequence, 0);
      EXPECT_TRUE(std::ranges::equal(pages, row_of(step.tables(0), std::int64_t(r), pages.size())));
      EXPECT_EQ(step.kv_lens()[r], cache.length(requests[r].sequence) + order[r] % 2);
    }
    step.commit();
  }
}

TEST(KvStep, TablesGrowWhereTheyAre) {
  KvCache cache(small_options());
  const SequenceId sequence = cache.create();
  grow(cache, sequence, 1);
  const std::int32_t* own = cache.pages(sequence, 0).data();
  const std::int32_t first = *own;
  const KvRequest request{.sequence = sequence, .new_tokens = 1};
  KvStep step = cache.begin({&request, 1});
  const std::int32_t* of_steps = step.tables(0).pages;
  step.commit();
  for (int i = 0; i < 60; ++i) {
    step = cache.begin({&request, 1});
    ASSERT_EQ(step.tables(0).pages, of_steps);
    step.commit();
    ASSERT_EQ(cache.pages(sequence, 0).data(), own);
    ASSERT_EQ(*own, first);
  }
}

/// What a step says of shared prefixes holds by its own tables.
TEST(KvStep, DescribesWhatItsSequencesShare) {
  KvCache cache(small_options());
  const SequenceId trunk = cache.create();
  grow(cache, trunk, 14);
  const SequenceId early = cache.fork(trunk);
  cache.truncate(early, 7);
  const SequenceId late = cache.fork(trunk);
  const SequenceId other = cache.create();
  grow(cache, other, 9);
  const SequenceId empty = cache.create();
  const std::vector<KvRequest> requests = {{.sequence = late, .new_tokens = 1},
                                           {.sequence = other, .new_tokens = 1},
                                           {.sequence = early, .new_tokens = 2},
                                           {.sequence = empty, .new_tokens = 3},
                                           {.sequence = trunk}};
  const KvStep step = cache.begin(requests);
  StepBatch batch;
  step.describe(0, batch);
  step.describe_prefixes(0, batch);
  ASSERT_EQ(batch.prefix_group.size(), 5U);
  EXPECT_EQ(batch.prefix_group[0], batch.prefix_group[2]);
  EXPECT_EQ(batch.prefix_group[0], batch.prefix_group[4]);
  EXPECT_NE(batch.prefix_group[0], batch.prefix_group[1]);
  // `late` wrote to a copy of the page of tokens 12 and 13, `early` to one of 4 ... 6.
  EXPECT_EQ(batch.prefix_tokens[2], 4);
  EXPECT_EQ(batch.prefix_tokens[4], 12);
  for (std::size_t r = 0; r < requests.size(); ++r)
    EXPECT_LE(batch.prefix_tokens[r], step.kv_lens()[r] - step.q_lens()[r]);
}

/// Groups of other formats and windows, the last one of absorbed MLA.
KvCacheOptions hybrid_options(int page_size, std::int32_t tokens) {
  KvCacheOptions options;
  for (const std::int64_t window_left : {-1, 0, 4, 100, -1}) {
    LayerGroup group{.shape = {.q_heads = 2, .kv_heads = 2, .head_dim_qk = 3, .head_dim_v = 2},
                     .layers = 2};
    group.shape.window_left = window_left;
    if (window_left == 4) group.shape.kv_type = DType::i8;
    options.groups.push_back({.group = group, .pages = tokens / page_size + 1});
  }
  options.groups.back().group.shape = {
      .q_heads = 4, .kv_heads = 1, .head_dim_qk = 6, .head_dim_v = 4, .v_is_k_prefix = true};
  options.page_size = page_size;
  options.max_tokens = tokens;
  options.prefix_cache = false;
  return options;
}

void expect_formula(const KvCache& cache, std::int32_t length) {
  std::vector<LayerGroup> groups;
  for (const KvGroupOptions& group : cache.options().groups) groups.push_back(group.group);
  std::int64_t used = 0;
  for (int group = 0; group < cache.groups(); ++group) used += cache.usage(group).used;
  ASSERT_EQ(used, allocated_kv_bytes(groups, length, cache.options().page_size)) << length;
}

TEST(KvStep, ASequenceTakesWhatTheFormulaSays) {
  for (const int page_size : {1, 3, 16}) {
    KvCache cache(hybrid_options(page_size, 400));
    const SequenceId sequence = cache.create();
    for (int step = 0; cache.length(sequence) + 7 <= 400; ++step) {
      grow(cache, sequence, step % 8);
      expect_formula(cache, cache.length(sequence));
    }
  }
}

TEST(KvStep, AMillionTokensTakeWhatTheFormulaSays) {
  constexpr std::int32_t kTokens = 1 << 20;
  KvCache cache(hybrid_options(16, kTokens));
  const SequenceId sequence = cache.create();
  while (cache.length(sequence) < kTokens) grow(cache, sequence, 8192);
  expect_formula(cache, kTokens);
  const KvRequest more{.sequence = sequence, .new_tokens = 1};
  EXPECT_THROW(cache.begin({&more, 1}), Error);
  cache.free(sequence);
  expect_formula(cache, 0);
}

/// A batch that is used again holds nothing of what it described before.
TEST(KvStep, DescribesAFreshStep) {
  KvCache cache(small_options());
  const SequenceId trunk = cache.create();
  grow(cache, trunk, 14);
  const std::vector<KvRequest> requests = {{.sequence = trunk}, {.sequence = cache.fork(trunk)}};
  const KvStep step = cache.begin(requests);
  StepBatch batch;
  const PickedPages picks = PickedPages::sinks_and_window(step, 0, {4, 4});
  step.describe_prefixes(0, batch);
  picks.describe(batch);
  EXPECT_TRUE(batch.prefix_group.empty());
  EXPECT_FALSE(batch.q_start.empty());
  step.describe_prefixes(0, batch);
  step.describe(0, batch);
  EXPECT_TRUE(batch.prefix_group.empty());
  EXPECT_TRUE(batch.prefix_tokens.empty());
  EXPECT_TRUE(batch.q_start.empty());
}

TEST(KvStep, MayHaveNoRequests) {
  KvCache cache(small_options());
  KvStep step = cache.begin({});
  const PickedPages picks = PickedPages::sinks_and_window(step, 0, {4, 4});
  EXPECT_FALSE(picks.is_approximate());
  EXPECT_EQ(picks.to_string(), "exact: all 0 tokens seen");
  step.commit();
}

/// Where all groups have windows, texts longer than their pools are found by their last pages.
TEST(KvStep, LongTextsOfWindowsAloneAreFound) {
  KvCacheOptions options = small_options();
  options.groups[0].group.shape.window_left = 7;
  options.groups[0].pages = 6;
  options.max_tokens = 400;
  KvCache cache(options);
  std::vector<std::int32_t> text(300);
  std::iota(text.begin(), text.end(), 0);
  const SequenceId sequence = cache.create();
  for (std::size_t length = 3; length <= text.size(); length += 3) {
    const KvRequest request{
        .sequence = sequence, .new_tokens = 3, .tokens = std::span(text).first(length)};
    cache.begin({&request, 1}).commit();
  }
  cache.free(sequence);
  text.push_back(0);
  EXPECT_EQ(cache.create(text).reused_tokens, 300);
}

TEST(KvStep, MovesAndEndsOnce) {
  KvCache cache(small_options());
  const SequenceId sequence = cache.create();
  const KvRequest request{.sequence = sequence, .new_tokens = 5};
  KvStep step = cache.begin({&request, 1});
  KvStep moved = std::move(step);
  EXPECT_FALSE(step);
  EXPECT_THROW(step.commit(), Error);
  EXPECT_THROW(step.q_lens(), Error);
  step.rollback();  // of nothing
  EXPECT_TRUE(moved);
  moved = KvStep();  // rolls back
  EXPECT_EQ(cache.length(sequence), 0);
  EXPECT_EQ(cache.usage(0).free, cache.usage(0).reserved);
  moved = cache.begin({&request, 1});
  moved.commit();
  EXPECT_THROW(moved.commit(), Error);
  EXPECT_EQ(cache.length(sequence), 5);
}

}  // namespace
}  // namespace headwise
