// A page's bounds are never below what a query's product with one of its keys is, whatever the page
// went through, and the page that holds the greatest product is picked.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headwise/picked_pages.h"
#include "kv/kv_cache_state.h"
#include "tests/kv/filled_cache.h"

namespace headwise {
namespace {

constexpr int kPageSize = 8;
constexpr int kLayers = 2;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

KvCacheOptions options_of(DType kv_type) {
  KvCacheOptions options;
  options.groups = {{.group = {.shape = small_shape(DType::f32, kv_type), .layers = kLayers},
                     .pages = 40,
                     .key_bounds = true},
                    {.group = {.shape = small_shape(DType::f32, kv_type, 19), .layers = 1},
                     .pages = 40,
                     .window_slack = 12,
                     .key_bounds = true}};
  options.page_size = kPageSize;
  options.max_sequences = 8;
  options.max_tokens = 120;
  return options;
}

/// A page's true products, and their bound by the least and greatest of the keys' numbers.
struct PageProducts {
  double greatest = -kInfinity;
  double bound = 0.0;
  double sum = 0.0;  ///< of magnitudes, which rounding is in proportion to
};

PageProducts products_of(const ExactKeys& keys, const std::vector<float>& q) {
  PageProducts page;
  for (std::size_t j = 0; j < keys.positions.size(); ++j) {
    double product = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) product += double(q[i]) * keys.k[j * q.size() + i];
    page.greatest = std::max(page.greatest, product);
  }
  for (std::size_t i = 0; i < q.size(); ++i) {
    double most = -kInfinity;
    for (std::size_t j = 0; j < keys.positions.size(); ++j)
      most = std::max(most, double(q[i]) * keys.k[j * q.size() + i]);
    page.bound += most;
    page.sum += std::fabs(most);
  }
  return page;
}

class KeyBoundsOf : public testing::TestWithParam<DType> {
 protected:
  KeyBoundsOf() : filled_(options_of(GetParam())) {}

  /// Every page of a sequence, by random queries: the bound is none too low. `tight_from` is the
  /// first token from which on pages hold no other keys than the sequence's.
  void expect_bounds(std::size_t sequence, std::int32_t tight_from) {
    const KvStep step = filled_.begin({{sequence, 0}});
    const std::int32_t length = filled_.text(sequence).length();
    for (int group = 0; group < 2; ++group)
      for (int layer = 0; layer < (group == 0 ? kLayers : 1); ++layer)
        for (std::int32_t entry = 0; entry * kPageSize < length; ++entry) {
          const StoredKeys stored = filled_.stored(step, group, layer, 0);
          if (stored.table[entry] < 0) continue;
          for (int head = 0; head < 2; ++head)
            expect_bound(stored, group, layer, entry, head, entry * kPageSize >= tight_from);
        }
  }

  void expect_bound(const StoredKeys& stored, int group, int layer, std::int32_t entry, int head,
                    bool is_tight) {
    const KeyBounds& bounds = *filled_.cache().state().bounds[std::size_t(group)];
    const ExactKeys keys = load_keys(filled_.shape(group), stored, std::span(&entry, 1), head);
    std::vector<float> q(32);
    for (int i = 0; i < 4; ++i) {
      for (float& x : q) x = float(rng_.uniform(-1.0, 1.0));
      if (i == 3)
        for (float& x : q) x = 0.0F;
      const PageProducts page = products_of(keys, q);
      const double bound = bounds.bound(layer, stored.table[entry], head, q.data());
      const double rounding = 5e-6 * page.sum;
      ASSERT_GE(bound, page.greatest - rounding) << "entry " << entry;
      if (!is_tight) continue;
      ASSERT_NEAR(bound, page.bound, rounding) << "entry " << entry;
    }
  }

  FilledCache filled_;
  conformance::Rng rng_{2};
};

TEST_P(KeyBoundsOf, AreTightInPagesOfOneSequence) {
  const std::size_t sequence = filled_.add(29);
  expect_bounds(sequence, 0);
  filled_.grow(sequence, 1);
  filled_.grow(sequence, 20);
  expect_bounds(sequence, 0);
}

TEST_P(KeyBoundsOf, HoldAfterForksAndCopiesOnWrite) {
  const std::size_t first = filled_.add(21);
  const std::size_t second = filled_.fork(first);
  filled_.begin({{first, 6}, {second, 3}}).commit();
  const std::size_t third = filled_.fork(second);
  filled_.grow(third, 9);
  for (const std::size_t sequence : {first, second, third}) expect_bounds(sequence, 0);
}

TEST_P(KeyBoundsOf, HoldAfterCutsRollbacksAndRejections) {
  const std::size_t sequence = filled_.add(30);
  filled_.truncate(sequence, 27);
  filled_.grow(sequence, 4);  // the keys of a page's end, anew: no tighter than before
  expect_bounds(sequence, 32);
  filled_.begin({{sequence, 5}}).rollback();
  filled_.truncate(sequence, 31);
  expect_bounds(sequence, 32);
  filled_.truncate(sequence, 24);
  filled_.grow(sequence, 8);  // a whole page: its bounds begin anew
  expect_bounds(sequence, 0);
}

TEST_P(KeyBoundsOf, BeginAnewWhereAPageIsUsedAgain) {
  filled_.edit_keys([](int, int, std::size_t sequence, std::int32_t, std::span<float> keys) {
    for (float& k : keys) k *= sequence == 0 ? 2.0F : 0.01F;
  });
  const std::size_t large = filled_.add(64);
  const SequenceId id = filled_.id(large);
  const std::vector<std::int32_t> old(filled_.cache().pages(id, 0).begin(),
                                      filled_.cache().pages(id, 0).end());
  filled_.free(large);
  const std::size_t small = filled_.add(64);
  const auto pages = filled_.cache().pages(filled_.id(small), 0);
  EXPECT_NE(std::ranges::find(old, pages[3]), old.end()) << "pages are not used again";
  expect_bounds(small, 0);
}

TEST_P(KeyBoundsOf, HoldInARandomHistory) {
  std::vector<std::size_t> live{filled_.add(10)};
  for (int i = 0; i < 150; ++i) {
    const std::size_t which = std::size_t(rng_.below(std::int64_t(live.size())));
    const std::int32_t length = filled_.text(live[which]).length();
    if (live.size() < 3 && rng_.chance(2)) {
      live.push_back(filled_.fork(live[which]));
    } else if (rng_.chance(3)) {
      filled_.truncate(live[which], std::max(0, length - std::int32_t(rng_.between(0, 3))));
    } else if (length > 60) {
      filled_.free(live[which]);
      live[which] = filled_.add(std::int32_t(rng_.between(1, 30)));
    } else {
      filled_.grow(live[which], std::int32_t(rng_.between(1, 12)));
    }
    expect_bounds(live[std::size_t(rng_.below(std::int64_t(live.size())))], 1 << 30);
    if (HasFatalFailure()) return;
  }
}

TEST_P(KeyBoundsOf, APageWithANaNMayHoldAnyProduct) {
  filled_.edit_keys([](int, int, std::size_t, std::int32_t position, std::span<float> keys) {
    if (position == 19) keys[32 + 4] = std::numeric_limits<float>::quiet_NaN();  // of head 1
  });
  const std::size_t sequence = filled_.add(63);
  const KvStep step = filled_.begin({{sequence, 1}});
  const std::vector<float> q(6 * 32, 0.0F);
  const KeyBounds& bounds = *filled_.cache().state().bounds[0];
  const std::int32_t page = step.tables(0).pages[2];
  EXPECT_EQ(bounds.bound(0, page, 1, q.data()), kInfinity);
  EXPECT_EQ(bounds.bound(0, page, 0, q.data()), 0.0F);
  const auto picks = PickedPages::top_pages(step, 0, 0, dense(q.data(), DType::f32, {1, 6, 32}),
                                            {.pages = 4, .first_pages = 1, .last_pages = 2});
  EXPECT_EQ(picks.picked(0, 1)[1], 2);
  EXPECT_EQ(picks.picked(0, 0)[1], 1) << "equal scores: the earlier page";
}

/// A needle: one key that is a query of its group, in a page of its own for each KV head.
TEST_P(KeyBoundsOf, ThePageOfTheGreatestProductIsPicked) {
  for (int trial = 0; trial < 20; ++trial) {
    FilledCache filled(options_of(GetParam()));
    std::vector<float> q(6 * 32);
    for (float& x : q) x = float(rng_.uniform(-1.0, 1.0));
    // Outside of the first page and the last two of 13.
    const std::int64_t places[2] = {rng_.between(8, 87), rng_.between(8, 87)};
    const std::int64_t heads[2] = {rng_.below(3), 3 + rng_.below(3)};
    const int layer_of_needle = int(rng_.below(kLayers));
    filled.edit_keys([&](int, int layer, std::size_t, std::int32_t position, std::span<float> k) {
      for (float& x : k) x *= 0.1F;
      for (std::size_t head = 0; head < 2; ++head)
        for (std::size_t i = 0; position == places[head] && i < 32; ++i)
          k[head * 32 + i] =
              (layer == layer_of_needle ? 2.0F : -2.0F) * q[std::size_t(heads[head]) * 32 + i];
    });
    const std::size_t sequence = filled.add(99);
    const KvStep step = filled.begin({{sequence, 1}});
    const auto picks =
        PickedPages::top_pages(step, 0, layer_of_needle, dense(q.data(), DType::f32, {1, 6, 32}),
                               {.pages = 4, .first_pages = 1, .last_pages = 2});
    for (int head = 0; head < 2; ++head) {
      const std::vector<std::int32_t> wanted{0, std::int32_t(places[head] / kPageSize), 11, 12};
      const auto picked = picks.picked(0, head);
      EXPECT_EQ(std::vector(picked.begin(), picked.end()), wanted) << "head " << head;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, KeyBoundsOf,
                         testing::Values(DType::f32, DType::f16, DType::bf16, DType::f8e4m3,
                                         DType::i8),
                         [](const auto& c) { return std::string(name_of(c.param)); });

}  // namespace
}  // namespace headwise
