// Which cached pages go when room is needed, and what is found afterwards.

#include <gtest/gtest.h>

#include <functional>

#include "headwise/error.h"
#include "tests/kv/small_cache.h"

namespace headwise {
namespace {

/// A sequence that nobody finds takes so many pages, and keeps them.
void take(SmallCache& filled, int pages) {
  if (pages == 0) return;
  const int size = filled.cache.options().page_size;
  filled.grow(filled.cache.create(), counted(10'000, pages * size), {}, false);
}

TEST(CacheEviction, TheLeastRecentlyUsedLeafGoesFirst) {
  const Tokens a = counted(0, 8), b = counted(100, 4), c = counted(200, 8);
  struct Expected {
    int a, b, c;
  };
  // b is the oldest, then c from its end on, then a, which was asked for.
  const Expected after[] = {{8, 4, 8}, {8, 0, 8}, {8, 0, 4}, {8, 0, 0}, {4, 0, 0}, {0, 0, 0}};
  for (int evictions = 0; evictions <= 5; ++evictions) {
    SCOPED_TRACE(evictions);
    SmallCache filled(small_options({small_group(6)}));
    for (const Tokens& tokens : {a, b, c}) filled.remember(tokens);
    EXPECT_EQ(filled.reused(joined(a, {1})), 8);
    take(filled, 1 + evictions);
    EXPECT_EQ(filled.cache.counters().evictions, evictions);
    EXPECT_EQ(filled.pages_cached(), 5 - evictions);
    EXPECT_EQ(filled.reused(joined(a, {1})), after[evictions].a);
    EXPECT_EQ(filled.reused(joined(b, {1})), after[evictions].b);
    EXPECT_EQ(filled.reused(joined(c, {1})), after[evictions].c);
  }
}

TEST(CacheEviction, TheSameOneByOne) {
  SmallCache filled(small_options({small_group(6)}));
  for (const Tokens& tokens : {counted(0, 8), counted(100, 4), counted(200, 8)})
    filled.remember(tokens);
  const SequenceId sequence = filled.cache.create();
  for (int pages = 1; pages <= 6; ++pages) {
    filled.grow(sequence, counted(10'000, 4 * pages), {}, false);
    EXPECT_EQ(filled.cache.counters().evictions, pages - 1);
    EXPECT_EQ(filled.pages_cached(), 6 - pages);
  }
  filled.expect_content(sequence, counted(10'000, 24));
}

TEST(CacheEviction, AParentGoesAfterItsChildren) {
  const Tokens root = counted(0, 4), first = joined(root, counted(10, 4)),
               second = joined(root, counted(20, 4)), other = counted(100, 4);
  struct Expected {
    int first, second, other;
  };
  // The root was asked for last, so that `other` is older, but not than the root's children.
  const Expected after[] = {{8, 8, 4}, {4, 8, 4}, {4, 4, 4}, {4, 4, 0}, {0, 0, 0}};
  for (int evictions = 0; evictions <= 4; ++evictions) {
    SCOPED_TRACE(evictions);
    SmallCache filled(small_options({small_group(5)}));
    for (const Tokens& tokens : {first, second, other}) filled.remember(tokens);
    EXPECT_EQ(filled.reused(joined(root, {7, 7})), 4);
    take(filled, 1 + evictions);
    EXPECT_EQ(filled.cache.counters().evictions, evictions);
    EXPECT_EQ(filled.reused(joined(first, {1})), after[evictions].first);
    EXPECT_EQ(filled.reused(joined(second, {1})), after[evictions].second);
    EXPECT_EQ(filled.reused(joined(other, {1})), after[evictions].other);
  }
}

TEST(CacheEviction, WhatIsInUseStays) {
  SmallCache filled(small_options({small_group(6)}));
  const Tokens old = counted(0, 8), newer = counted(100, 8);
  filled.remember(old);
  filled.remember(newer);
  const PrefixHit hit = filled.cache.create(joined(old, {1}));
  EXPECT_EQ(filled.reused(joined(newer, {1})), 8);  // now `old` is the older one
  take(filled, 4);
  EXPECT_EQ(filled.cache.counters().evictions, 2);
  EXPECT_EQ(filled.reused(joined(newer, {1})), 0);
  EXPECT_EQ(filled.reused(joined(old, {1})), 8);
  EXPECT_THROW(take(filled, 1), Error);
  EXPECT_EQ(filled.reused(joined(old, {1})), 8);
  filled.expect_content(hit.sequence, old);
}

/// Two sequences compute the same page; the one whose page is not the known one goes on, so that
/// the leaf is in use and the page before it is not.
TEST(CacheEviction, CachedPagesBehindOnesInUseCanBeHad) {
  SmallCache filled(small_options({small_group(4)}));
  const SequenceId a = filled.cache.create(), b = filled.cache.create();
  filled.grow(a, counted(0, 4));
  filled.grow(b, counted(0, 8));
  filled.cache.free(a);
  EXPECT_EQ(filled.pages_used(), 2);
  EXPECT_EQ(filled.pages_cached(), 1);
  take(filled, 2);
  EXPECT_EQ(filled.pages_used(), 4);
  filled.expect_content(b, counted(0, 8));
}

TEST(CacheEviction, NothingGoesBeforeItMust) {
  SmallCache filled(small_options({small_group(6), small_group(6, 5)}));
  filled.remember(counted(0, 8));
  take(filled, 4);
  EXPECT_EQ(filled.cache.counters().evictions, 0);
  EXPECT_EQ(filled.cache.counters().evicted_window_pages, 0);
  EXPECT_EQ(filled.reused(counted(0, 9)), 8);
}

/// A full group and one with a window, whose pages of 12 remembered tokens (pages of 2) are all
/// there, and two free.
struct WindowedCache : SmallCache {
  explicit WindowedCache(std::int64_t window_left)
      : SmallCache(small_options({small_group(32), small_group(8, window_left)}, 2)) {
    remember(counted(0, 12));
    EXPECT_EQ(pages_cached(1), 6);
  }
};

/// A sequence that has ended took pages of the group with a window.
void reclaim(SmallCache& filled, int pages) {
  const SequenceId sequence = filled.cache.create();
  filled.grow(sequence, counted(10'000, 2 * (2 + pages)), {}, false);
  filled.cache.free(sequence);
}

TEST(CacheEviction, WindowPagesGoSingly) {
  for (int gone = 0; gone <= 6; ++gone) {
    WindowedCache filled(3);
    reclaim(filled, gone);
    EXPECT_EQ(filled.cache.counters().evicted_window_pages, gone);
    EXPECT_EQ(filled.pages_cached(1), 6 - gone);
    EXPECT_EQ(filled.cache.counters().evictions, 0);
    EXPECT_EQ(filled.pages_cached(0), 6);
  }
}

TEST(CacheEviction, AHitNeedsWhatItsWindowReaches) {
  WindowedCache filled(3);
  reclaim(filled, 1);  // the first page, the oldest
  // Behind 5 tokens, the next one sees 2 to 5: page 0 is not needed.
  const int reused[] = {0, 0, 0, 0, 0, 5, 6, 7, 8, 9, 10, 11, 12};
  for (int tokens = 1; tokens <= 13; ++tokens)
    EXPECT_EQ(filled.reused(counted(0, tokens)), reused[tokens - 1]) << tokens << " tokens";
  const PrefixHit hit = filled.cache.create(counted(0, 13));
  const auto table = filled.cache.pages(hit.sequence, 1);
  for (std::size_t page = 0; page < 6; ++page) EXPECT_EQ(table[page] == -1, page < 4) << page;
  EXPECT_EQ(filled.pages_used(1), 2);
  EXPECT_EQ(filled.pages_used(0), 6);
}

TEST(CacheEviction, AShorterHitWhereTheLongestLacksItsWindow) {
  WindowedCache filled(1);
  // Behind an even number of tokens, the window needs the last page: all are asked for but one.
  for (const int tokens : {12, 8, 6, 4, 2})
    EXPECT_EQ(filled.reused(counted(0, tokens + 1)), tokens);
  reclaim(filled, 1);
  EXPECT_EQ(filled.reused(counted(0, 11)), 8);
  EXPECT_EQ(filled.reused(counted(0, 10)), 8);
  EXPECT_EQ(filled.reused(counted(0, 13)), 12);
  EXPECT_EQ(filled.reused(counted(0, 12)), 11);
  EXPECT_EQ(filled.reused(counted(0, 9)), 8);
}

/// Two pages behind the first begin alike, and the window's page of the one that goes on longer is
/// gone: a part of the other serves more tokens than the first page alone.
TEST(CacheEviction, APartOfAnotherPageWhereTheEqualOneLacksItsWindow) {
  SmallCache filled(small_options({small_group(32), small_group(8, 1)}));
  const Tokens root = counted(0, 4), gone = joined(root, {10, 11, 12, 13}),
               there = joined(root, {10, 11, 12, 99});
  filled.remember(gone);
  filled.remember(there);
  EXPECT_EQ(filled.reused(counted(0, 5)), 4);  // page 0 is used, so that `gone` is the oldest
  const SequenceId sequence = filled.cache.create();
  filled.grow(sequence, counted(10'000, 24), {}, false);
  EXPECT_EQ(filled.cache.counters().evicted_window_pages, 1);
  EXPECT_EQ(filled.reused(joined(there, {1})), 8);
  EXPECT_EQ(filled.reused(joined(gone, {1})), 7);
}

TEST(CacheEviction, WindowPagesInUseStay) {
  WindowedCache filled(3);
  const PrefixHit hit = filled.cache.create(counted(0, 6));  // its window is pages 1 and 2
  reclaim(filled, 4);
  EXPECT_EQ(filled.cache.counters().evicted_window_pages, 4);
  filled.expect_content(hit.sequence, counted(0, 5));
  EXPECT_EQ(filled.reused(counted(0, 6)), 5);
  EXPECT_EQ(filled.reused(counted(0, 13)), 6);
  EXPECT_THROW(reclaim(filled, 5), Error);
}

/// A page that was given up comes back with the next sequence that computes it.
TEST(CacheEviction, AWindowPageThatIsGoneIsStoredAgain) {
  WindowedCache filled(3);
  reclaim(filled, 6);
  EXPECT_EQ(filled.pages_cached(1), 0);
  EXPECT_EQ(filled.reused(counted(0, 13)), 0);
  filled.remember(counted(0, 12));
  EXPECT_EQ(filled.pages_cached(1), 6);
  EXPECT_EQ(filled.cache.counters().stored_pages, 6);
  EXPECT_EQ(filled.reused(counted(0, 13)), 12);
}

TEST(CacheEviction, AWindowOfNoTokensNeedsNoFullPage) {
  WindowedCache filled(0);
  reclaim(filled, 6);
  for (int tokens = 1; tokens <= 13; ++tokens)  // parts of pages are gone, whole ones not needed
    EXPECT_EQ(filled.reused(counted(0, tokens)), (tokens - 1) / 2 * 2) << tokens;
}

}  // namespace
}  // namespace headwise
