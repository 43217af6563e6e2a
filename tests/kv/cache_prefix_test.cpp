// What the prefix cache finds, from its definition: the longest beginning of equal tokens and
// extras, of which one token is left. What goes first is in cache_eviction_test.cpp.

#include <gtest/gtest.h>

#include "kv/prefix_tree.h"
#include "tests/kv/small_cache.h"

namespace headwise {
namespace {

using Kind = PrefixExtra::Kind;

SmallCache cache_of(std::int64_t pages, int min_partial = 1) {
  KvCacheOptions options = small_options({small_group(pages)});
  options.min_partial_tokens = min_partial;
  return SmallCache(options);
}

TEST(CachePrefix, OneTokenIsLeft) {
  SmallCache filled = cache_of(16);
  filled.remember(counted(0, 8));
  EXPECT_EQ(filled.reused({}), 0);
  for (int tokens = 1; tokens <= 9; ++tokens)
    EXPECT_EQ(filled.reused(counted(0, tokens)), tokens - 1) << tokens;
  for (int tokens = 10; tokens <= 20; ++tokens)
    EXPECT_EQ(filled.reused(counted(0, tokens)), 8) << tokens;
  EXPECT_EQ(filled.reused(counted(0, 100)), 8);  // more than a sequence may have
}

TEST(CachePrefix, FullPagesOnlyAreKnown) {
  SmallCache filled = cache_of(16);
  filled.remember(counted(0, 7));
  EXPECT_EQ(filled.reused(counted(0, 9)), 4);
  EXPECT_EQ(filled.pages_cached(), 1);
}

TEST(CachePrefix, APartOfAPageFromTheLeastNumberOfTokensOn) {
  for (const int least : {1, 2, 3, 4, 5}) {
    SmallCache filled = cache_of(16, least);
    filled.remember(counted(0, 8));
    for (int same = 0; same < 8; ++same) {
      const int part = same % 4;
      EXPECT_EQ(filled.reused(joined(counted(0, same), counted(500, 4))),
                same - part + (part >= least ? part : 0));
    }
  }
}

TEST(CachePrefix, TheLongestPartOfAPage) {
  SmallCache filled = cache_of(16);
  const Tokens begin = counted(0, 4);
  for (const Tokens& end : {Tokens{1, 9, 9, 9}, Tokens{1, 2, 3, 9}, Tokens{1, 2, 9, 9}})
    filled.remember(joined(begin, end));
  EXPECT_EQ(filled.reused(joined(begin, {1, 2, 3, 4, 5})), 7);
  EXPECT_EQ(filled.reused(joined(begin, {1, 2, 4, 4, 5})), 6);
  EXPECT_EQ(filled.reused(joined(begin, {1, 4, 4, 4, 5})), 5);
  EXPECT_EQ(filled.reused(joined(begin, {4, 2, 3, 9, 5})), 4);
  EXPECT_EQ(filled.reused(joined(begin, {1, 2, 3})), 6);  // of an equal page one token is left
}

TEST(CachePrefix, APartIsCopiedBeforeItIsWrittenTo) {
  SmallCache filled = cache_of(16);
  filled.remember(counted(0, 8));
  const Tokens other = joined(counted(0, 6), counted(500, 6));
  const PrefixHit hit = filled.cache.create(other);
  EXPECT_EQ(hit.reused_tokens, 6);
  EXPECT_EQ(filled.pages_used(), 2);
  EXPECT_EQ(filled.pages_cached(), 0);
  const std::int32_t cached = filled.cache.pages(hit.sequence, 0)[1];
  EXPECT_EQ(filled.cache.counters().copies_on_write, 0);
  filled.grow(hit.sequence, other);
  EXPECT_NE(filled.cache.pages(hit.sequence, 0)[1], cached);
  EXPECT_EQ(filled.cache.counters().copies_on_write, 1);
  filled.expect_content(hit.sequence, other);
  EXPECT_EQ(filled.pages_cached(), 1);  // the copied one
  EXPECT_EQ(filled.reused(counted(0, 9)), 8);
  EXPECT_EQ(filled.reused(joined(other, {1})), 12);
}

/// Prompts that differ in one bit, or in the order of
/// their tokens, are what a weak hash confuses, and content tells whether one was.
TEST(CachePrefix, NearlyEqualPromptsAreOthers) {
  std::vector<Tokens> prompts;
  for (int bits = 0; bits < 256; ++bits) {
    Tokens prompt;
    for (int i = 0; i < 8; ++i) prompt.push_back(bits >> i & 1);
    prompts.push_back(prompt);
    for (std::int32_t& token : prompt) token = -token;
    if (bits != 0) prompts.push_back(prompt);
    for (std::int32_t& token : prompt) token *= 1 << 16;
    if (bits != 0) prompts.push_back(prompt);
  }
  for (int place = 0; place < 8; ++place)
    for (int bit = 0; bit < 31; ++bit) {
      Tokens prompt = counted(7, 8);
      prompt[static_cast<std::size_t>(place)] ^= 1 << bit;
      prompts.push_back(prompt);
    }
  for (const std::uint64_t seed : {1, 2, 3, 255}) {
    KvCacheOptions options = small_options({small_group(4096)});
    options.hash_seed = seed;
    SmallCache filled(options);
    for (const Tokens& prompt : prompts) {
      const std::int32_t before = filled.reused(joined(prompt, {-99}));
      EXPECT_LT(before, 8);
      filled.remember(prompt);
      EXPECT_EQ(filled.reused(joined(prompt, {-99})), 8);
    }
    for (const Tokens& prompt : prompts) EXPECT_EQ(filled.reused(joined(prompt, {-99})), 8);
    EXPECT_EQ(filled.cache.counters().evictions, 0);
  }
}

TEST(PrefixTree, AnEqualHashIsNotEnough) {
  PrefixTree tree(8, 2, {false});
  const Tokens tokens = {1, 2}, others = {1, 3};
  const std::int32_t root = tree.insert(PrefixTree::kNone, 5, tokens, "x");
  EXPECT_EQ(tree.find(PrefixTree::kNone, 5, tokens, "x"), root);
  EXPECT_EQ(tree.find(PrefixTree::kNone, 5, others, "x"), PrefixTree::kNone);
  EXPECT_EQ(tree.find(PrefixTree::kNone, 5, tokens, "y"), PrefixTree::kNone);
  EXPECT_EQ(tree.find(PrefixTree::kNone, 5, tokens, ""), PrefixTree::kNone);
  EXPECT_EQ(tree.find(root, 5, tokens, "x"), PrefixTree::kNone);
  const std::int32_t child = tree.insert(root, 5, tokens, "x");
  const std::int32_t other = tree.insert(PrefixTree::kNone, 5, others, "x");
  EXPECT_EQ(tree.find(root, 5, tokens, "x"), child);
  EXPECT_EQ(tree.find(PrefixTree::kNone, 5, tokens, "x"), root);
  EXPECT_EQ(tree.find(PrefixTree::kNone, 5, others, "x"), other);
}

TEST(CachePrefix, ExtrasSeparateEqualTokens) {
  const std::vector<PrefixKey> keys = {
      {},
      {{Kind::adapter, "x"}},
      {{Kind::salt, "x"}},
      {{Kind::salt, "y"}},
      {{Kind::adapter, "x"}, {Kind::salt, "x"}},
      {{Kind::adapter, "y"}, {Kind::salt, "x"}},
      {{Kind::adapter, "x"}, {Kind::salt, "y"}},
      {{Kind::salt, "xy"}},
      {{Kind::salt, "x"}, {Kind::salt, "y"}},
      {{Kind::salt, std::string("x\0", 2)}},
      {{Kind::salt, std::string("x") + static_cast<char>(Kind::salt) + "y"}},
      {{Kind::image, "x", 0, 4}},
      {{Kind::image, "x", 0, 5}},
      {{Kind::image, "x", 1, 4}},
      {{Kind::image, "y", 0, 4}},
      {{Kind::image, "x", 0, 2}, {Kind::image, "x", 2, 2}},
  };
  SmallCache filled = cache_of(64);
  for (const PrefixKey& key : keys) {
    EXPECT_EQ(filled.reused(counted(0, 9), key), 0);
    filled.remember(counted(0, 8), key);
    EXPECT_EQ(filled.reused(counted(0, 9), key), 8);
  }
  for (const PrefixKey& key : keys) EXPECT_EQ(filled.reused(counted(0, 9), key), 8);
  EXPECT_EQ(filled.reused(counted(0, 9), {{Kind::salt, "z"}}), 0);
}

TEST(CachePrefix, ExtrasHaveNoOrder) {
  SmallCache filled = cache_of(64);
  const PrefixExtra adapter{Kind::adapter, "b"}, salt{Kind::salt, "a"};
  const PrefixExtra first{Kind::image, "z", 1, 2}, second{Kind::image, "y", 3, 3};
  filled.remember(counted(0, 8), {adapter, salt, first, second});
  EXPECT_EQ(filled.reused(counted(0, 9), {second, first, salt, adapter}), 8);
  EXPECT_EQ(filled.reused(counted(0, 9), {salt, second, adapter, first}), 8);
}

/// Pages of 4: an image at tokens 6 to 8 is in pages 1 and 2.
TEST(CachePrefix, AnImageMattersWhereItLiesAndBehindIt) {
  SmallCache filled = cache_of(64);
  const auto image = [](const char* id, std::int32_t first, std::int32_t tokens) {
    return PrefixKey{{Kind::image, id, first, tokens}};
  };
  filled.remember(counted(0, 16), image("i", 6, 3));
  const Tokens prompt = counted(0, 17);
  EXPECT_EQ(filled.reused(prompt, image("i", 6, 3)), 16);
  for (const PrefixKey& other :
       {PrefixKey{}, image("j", 6, 3), image("i", 7, 3), image("i", 6, 2), image("i", 5, 3)})
    EXPECT_EQ(filled.reused(prompt, other), 4);
  EXPECT_EQ(filled.reused(prompt, image("i", 3, 1)), 0);
  EXPECT_EQ(filled.reused(prompt, image("i", 9, 1)), 4);
  // What comes behind the image does not matter to it.
  const PrefixExtra first{Kind::image, "i", 6, 3};
  EXPECT_EQ(filled.reused(prompt, {first, {Kind::image, "k", 12, 1}}), 12);
  EXPECT_EQ(filled.reused(prompt, {first, {Kind::image, "k", 15, 9}}), 12);
  EXPECT_EQ(filled.reused(prompt, {first, {Kind::image, "k", 16, 9}}), 16);
  EXPECT_EQ(filled.reused(prompt, {first, {Kind::image, "k", 11, 1}}), 8);
}

TEST(CachePrefix, NothingIsKnownBeforeTheCommit) {
  SmallCache filled = cache_of(16);
  const Tokens tokens = counted(0, 8);
  const SequenceId sequence = filled.cache.create();
  const KvRequest request{sequence, 8, tokens};
  for (int i = 0; i < 2; ++i) {
    KvStep step = filled.cache.begin({&request, 1});
    filled.write(sequence, tokens);
    EXPECT_EQ(filled.reused(counted(0, 9)), 0);
    step.rollback();
    EXPECT_EQ(filled.reused(counted(0, 9)), 0);
    EXPECT_EQ(filled.pages_free(), 16);
  }
  EXPECT_EQ(filled.cache.counters().stored_pages, 0);
  filled.grow(sequence, tokens);
  EXPECT_EQ(filled.reused(counted(0, 9)), 8);
}

TEST(CachePrefix, RejectedTokensAreNotKnown) {
  SmallCache filled = cache_of(16);
  const Tokens drafted = counted(0, 12);
  const SequenceId sequence = filled.cache.create();
  const KvRequest request{sequence, 12, drafted};
  KvStep step = filled.cache.begin({&request, 1});
  filled.write(sequence, drafted);
  step.commit(std::vector<std::int32_t>{6});
  EXPECT_EQ(filled.cache.length(sequence), 6);
  EXPECT_EQ(filled.pages_used(), 2);
  EXPECT_EQ(filled.reused(counted(0, 13)), 4);
  EXPECT_EQ(filled.cache.counters().stored_pages, 1);
  const Tokens tokens = joined(counted(0, 6), counted(50, 6));
  filled.grow(sequence, tokens);
  EXPECT_EQ(filled.reused(joined(tokens, {1})), 12);
  EXPECT_EQ(filled.reused(counted(0, 13)), 6);
  filled.expect_content(sequence, tokens);
}

TEST(CachePrefix, TokensThatAreNotToldAreNotKnown) {
  SmallCache filled = cache_of(16);
  const SequenceId sequence = filled.cache.create();
  filled.grow(sequence, counted(0, 8), {}, false);
  EXPECT_EQ(filled.reused(counted(0, 9)), 0);
  filled.grow(sequence, counted(0, 13));  // told at last, and with them all before
  EXPECT_EQ(filled.reused(counted(0, 20)), 12);
}

TEST(CachePrefix, SequencesThatComputeTheSameAreStoredOnce) {
  SmallCache filled = cache_of(16);
  const Tokens tokens = counted(0, 9);
  const SequenceId a = filled.cache.create(), b = filled.cache.create();
  const std::vector<KvRequest> requests = {{a, 9, tokens}, {b, 9, tokens}};
  filled.cache.begin(requests).rollback();
  filled.grow(a, tokens);
  filled.grow(b, tokens);
  EXPECT_EQ(filled.cache.counters().stored_pages, 2);
  EXPECT_EQ(filled.pages_used(), 6);
  filled.cache.free(a);
  filled.cache.free(b);
  EXPECT_EQ(filled.pages_cached(), 2);
}

/// Cut sequences write to their last page again; where it is known, even to the cache alone, it
/// stays as it is.
TEST(CachePrefix, ACutSequenceDoesNotWriteToKnownPages) {
  for (const int length : {1, 2, 3, 4, 5, 6, 7, 8}) {
    SCOPED_TRACE(length);
    SmallCache filled = cache_of(16);
    const SequenceId sequence = filled.cache.create();
    filled.grow(sequence, counted(0, 9));
    filled.cache.truncate(sequence, length);
    const Tokens other = joined(counted(0, length), counted(500, 9 - length));
    filled.grow(sequence, other);
    EXPECT_EQ(filled.cache.counters().copies_on_write, length % 4 == 0 ? 0 : 1);
    filled.expect_content(sequence, other);
    EXPECT_EQ(filled.reused(counted(0, 10)), 8);
    EXPECT_EQ(filled.reused(joined(other, {1})), 8);
  }
}

TEST(CachePrefix, ACutStepOfAPartIsFoundWithItsOwnTokens) {
  SmallCache filled = cache_of(16);
  filled.remember(counted(0, 8));
  const Tokens other = joined(counted(0, 6), {70, 71, 72, 73, 74, 75, 76});
  const PrefixHit hit = filled.cache.create(other);
  filled.cache.truncate(hit.sequence, 5);  // of the part
  const Tokens third = joined(counted(0, 5), {80, 81, 82, 83});
  filled.grow(hit.sequence, third);
  filled.expect_content(hit.sequence, third);
  EXPECT_EQ(filled.reused(counted(0, 9)), 8);
  EXPECT_EQ(filled.reused(third), 8);
}

TEST(CachePrefix, CountersAreExact) {
  SmallCache filled = cache_of(4);
  const KvCounters none = filled.cache.counters();
  EXPECT_EQ(seen(none), seen(KvCounters{}));
  filled.remember(counted(0, 8));
  filled.reused(counted(0, 9));                              // a hit of 8
  filled.reused(counted(0, 7));                              // of 6, in part
  filled.reused(counted(100, 5));                            // nothing
  const PrefixHit hit = filled.cache.create(counted(0, 6));  // of 5, in part
  filled.grow(hit.sequence, counted(0, 6));                  // copies
  filled.cache.free(hit.sequence);
  filled.grow(filled.cache.create(), counted(200, 12));  // two pages are free
  const KvCounters expected = {.lookups = 4,
                               .queried_tokens = 27,
                               .hits = 3,
                               .reused_tokens = 19,
                               .partial_hits = 2,
                               .stored_pages = 5,
                               .evictions = 1,
                               .copies_on_write = 1};
  EXPECT_EQ(seen(filled.cache.counters()), seen(expected));
  filled.cache.clear_prefixes();
  EXPECT_EQ(filled.cache.counters().evictions, 5);
  EXPECT_EQ(filled.pages_used(), 3);
  EXPECT_EQ(filled.pages_free(), 1);
  EXPECT_EQ(filled.reused(counted(200, 13)), 0);
}

TEST(CachePrefix, WithoutOneNothingIsKept) {
  KvCacheOptions options = small_options({small_group(4)});
  options.prefix_cache = false;
  SmallCache filled(options);
  filled.remember(counted(0, 8));
  EXPECT_EQ(filled.pages_free(), 4);
  EXPECT_EQ(filled.reused(counted(0, 9)), 0);
  filled.cache.clear_prefixes();
  EXPECT_EQ(seen(filled.cache.counters()), seen(KvCounters{}));
}

TEST(CachePrefix, ARandomSeedFindsTheSame) {
  KvCacheOptions options = small_options({small_group(8)});
  options.hash_seed = 0;
  SmallCache filled(options);
  filled.remember(counted(0, 8));
  EXPECT_EQ(filled.reused(counted(0, 9)), 8);
}

}  // namespace
}  // namespace headwise
