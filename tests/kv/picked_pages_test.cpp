// What a step sees of its sequences where pages are picked: which pages, at which positions, and
// attention over exactly those tokens.

#include "headwise/picked_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "headwise/error.h"
#include "tests/kv/filled_cache.h"

namespace headwise {
namespace {

constexpr int kPageSize = 8;
constexpr int kFull = 0, kWindowed = 1, kWithoutBounds = 2;  // groups
constexpr std::int64_t kWindowLeft = 19;

KvCacheOptions options_of(DType q_type, DType kv_type) {
  const auto group = [&](std::int64_t window_left, int layers, bool key_bounds) {
    return KvGroupOptions{
        .group = {.shape = small_shape(q_type, kv_type, window_left), .layers = layers},
        .pages = 100,
        .window_slack = window_left < 0 ? 0 : 11,
        .key_bounds = key_bounds};
  };
  KvCacheOptions options;
  options.groups = {group(-1, 2, true), group(kWindowLeft, 1, true), group(-1, 1, false)};
  options.page_size = kPageSize;
  options.max_sequences = 8;
  options.max_tokens = 200;
  return options;
}

std::vector<std::int32_t> vector_of(std::span<const std::int32_t> span) {
  return {span.begin(), span.end()};
}

/// Whether the first new token of a request, or a later one, may see the token at `position`.
bool is_held(const AttentionShape& shape, std::int64_t position, std::int64_t begin) {
  return shape.window_left < 0 || position >= begin - shape.window_left;
}

/// Entries of pages that hold a token that `is_wanted`, found token by token.
template <class Wanted>
std::vector<std::int32_t> pages_with(std::int32_t kv_len, const Wanted& is_wanted) {
  std::vector<std::int32_t> entries;
  for (std::int32_t position = 0; position < kv_len; ++position)
    if (is_wanted(position) && (entries.empty() || entries.back() != position / kPageSize))
      entries.push_back(position / kPageSize);
  return entries;
}

/// Entries of pages that a window holds.
std::vector<std::int32_t> held_pages(const AttentionShape& shape, std::int32_t kv_len,
                                     std::int32_t q_len) {
  return pages_with(kv_len, [&](std::int64_t position) {
    const std::int64_t end_of_page = position / kPageSize * kPageSize + kPageSize - 1;
    return is_held(shape, end_of_page, kv_len - q_len);
  });
}

std::int64_t tokens_in(std::span<const std::int32_t> entries, std::int32_t kv_len) {
  std::int64_t tokens = 0;
  for (const std::int32_t entry : entries)
    tokens += std::min(kPageSize, kv_len - entry * kPageSize);
  return tokens;
}

/// The tables that kernels read say what picked() says, at true positions.
void expect_tables(const PickedPages& picks, const KvStep& open, int group, int heads) {
  StepBatch step;
  picks.describe(step);
  const BlockTables sequences = open.tables(group);
  ASSERT_EQ(step.tables.heads, heads);
  ASSERT_EQ(step.tables.page_size, kPageSize);
  ASSERT_EQ(step.tables.pool_pages, sequences.pool_pages);
  ASSERT_EQ(step.requests(), std::int64_t(open.q_lens().size()));
  for (std::int64_t r = 0; r < step.requests(); ++r) {
    ASSERT_EQ(step.q_lens[r], open.q_lens()[r]);
    ASSERT_EQ(step.q_start[r], open.kv_lens()[r] - open.q_lens()[r]);
    for (int head = 0; head < heads; ++head) {
      const auto entries = picks.picked(int(r), head);
      ASSERT_EQ(step.kv_lens[r], tokens_in(entries, open.kv_lens()[r]));
      const std::int64_t row = r * step.tables.request_stride + head * step.tables.head_stride;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        ASSERT_EQ(step.tables.positions[row + std::int64_t(i)], entries[i] * kPageSize);
        ASSERT_EQ(step.tables.pages[row + std::int64_t(i)],
                  sequences.pages[r * sequences.request_stride + entries[i]]);
        ASSERT_GE(step.tables.pages[row + std::int64_t(i)], 0);
      }
    }
  }
}

/// Attention of every backend that can, over the picks, against attention over their tokens.
int expect_attention(FilledCache& filled, const PickedPages& picks, const KvStep& open, int group,
                     int layer, const std::vector<float>& numbers) {
  const AttentionShape& shape = filled.shape(group);
  const std::int64_t tokens = std::accumulate(open.q_lens().begin(), open.q_lens().end(), 0LL);
  const StoredRows rows(shape.q_type, numbers, {tokens, shape.q_heads, shape.head_dim_qk});
  const auto q = decoded(rows.view().data, shape.q_type, numbers.size());
  StepBatch step;
  step.q = rows.view();
  picks.describe(step);
  std::vector<AttentionAnswer> answers;
  for (const Backend* backend : cpu_backends())
    if (auto answer = attend(*backend, shape, step, filled.cache().layer(group, layer),
                             scales_of(filled.cache(), group, layer)))
      answers.push_back(std::move(*answer));
  std::int64_t token = 0;
  for (std::size_t r = 0; r < open.q_lens().size(); token += open.q_lens()[r++]) {
    const std::int32_t q_len = open.q_lens()[r];
    std::vector<ExactKeys> keys;
    for (int head = 0; head < shape.kv_heads; ++head)
      keys.push_back(load_keys(shape, filled.stored(open, group, layer, r),
                               picks.picked(int(r), step.tables.heads == 1 ? 0 : head), head));
    const auto row = std::size_t(shape.q_heads * shape.head_dim_qk);
    const auto of_request =
        std::span(q).subspan(std::size_t(token) * row, std::size_t(q_len) * row);
    const ExactAnswer exact =
        exact_attention(shape, of_request, q_len, open.kv_lens()[r] - q_len, keys);
    for (const AttentionAnswer& answer : answers)
      EXPECT_EQ(fault_of(shape, answer, token, exact), "") << answer.row << ", request " << r;
  }
  return int(answers.size());
}

/// Sequences of which some are empty, some end with a page, and some are longer than the window.
std::vector<FilledCache::Growth> some_requests(FilledCache& filled) {
  const std::size_t lengths[] = {0, 3, 64, 77, 150, 40};
  const std::int32_t new_tokens[] = {2, 1, 1, 9, 1, 0};
  std::vector<FilledCache::Growth> requests;
  for (std::size_t i = 0; i < 6; ++i)
    requests.emplace_back(filled.add(std::int32_t(lengths[i])), new_tokens[i]);
  return requests;
}

struct PickCase {
  DType q_type, kv_type;
};

class Picked : public testing::TestWithParam<PickCase> {
 protected:
  Picked() : filled_(options_of(GetParam().q_type, GetParam().kv_type)) {}
  TensorView q_view(const std::vector<float>& numbers) const {
    return dense(numbers.data(), DType::f32, {std::int64_t(numbers.size()) / (6 * 32), 6, 32});
  }
  FilledCache filled_;
};

TEST_P(Picked, SinksAndWindowAreThePagesOfTheirTokens) {
  const KvStep open = filled_.begin(some_requests(filled_));
  int able = 0;
  for (const SinksAndWindow pick : {SinksAndWindow{4, 20},
                                    {0, 0},
                                    {1, 0},
                                    {0, 1},
                                    {8, 8},
                                    {9, 33},
                                    {17, 16},
                                    {0, 1 << 30},
                                    {(1LL << 31) - 1, 0}})
    for (const int group : {kFull, kWindowed, kWithoutBounds}) {
      SCOPED_TRACE(testing::Message() << pick.sink_tokens << " sinks, " << pick.window_tokens);
      const auto picks = PickedPages::sinks_and_window(open, group, pick);
      std::int64_t seen = 0;
      std::int64_t held = 0;
      for (int r = 0; r < 6; ++r) {
        const std::int32_t kv_len = open.kv_lens()[std::size_t(r)];
        const std::int64_t begin = kv_len - open.q_lens()[std::size_t(r)];
        const auto of_window =
            held_pages(filled_.shape(group), kv_len, std::int32_t(kv_len - begin));
        auto wanted = pages_with(kv_len, [&](std::int64_t position) {
          return position < pick.sink_tokens || position >= begin - pick.window_tokens;
        });
        std::erase_if(wanted, [&](std::int32_t entry) {
          return !std::ranges::binary_search(of_window, entry);
        });
        ASSERT_EQ(vector_of(picks.picked(r, 0)), wanted) << "request " << r;
        seen += tokens_in(wanted, kv_len);
        held += tokens_in(of_window, kv_len);
      }
      EXPECT_EQ(picks.seen_tokens(), seen);
      EXPECT_EQ(picks.tokens(), held);
      expect_tables(picks, open, group, 1);
      able += expect_attention(filled_, picks, open, group, 0, filled_.queries(open, group));
    }
  EXPECT_GE(able, 2 * 27) << "too few backends read picked pages";
}

/// By the keys' numbers alone: the greatest sum of max(q * least, q * greatest) of the group's
/// queries.
double score(const AttentionShape& shape, const ExactKeys& keys, const float* q) {
  double best = -1e300;
  const auto dim = std::size_t(shape.head_dim_qk);
  for (int h = 0; h < shape.group_size(); ++h, q += dim) {
    double sum = 0.0;
    for (std::size_t i = 0; i < dim; ++i) {
      double most = -1e300;
      for (std::size_t j = 0; j < keys.positions.size(); ++j)
        most = std::max(most, q[i] * keys.k[j * dim + i]);
      sum += most;
    }
    best = std::max(best, sum);
  }
  return best;
}

/// The first pages and the last are picked, the others by their scores.
void expect_best(const FilledCache& filled, const KvStep& open, int group, int layer,
                 std::size_t request, int head, std::span<const std::int32_t> picked,
                 const TopPages& pick, const float* q) {
  const AttentionShape& shape = filled.shape(group);
  const StoredKeys stored = filled.stored(open, group, layer, request);
  const auto all = held_pages(shape, stored.kv_len, 1);
  ASSERT_EQ(picked.size(), std::min(all.size(), std::size_t(pick.pages)));
  ASSERT_TRUE(std::ranges::is_sorted(picked, std::less_equal<>()));  // and no page twice
  if (picked.size() == all.size()) return;
  double least_in = 1e300;
  double most_out = -1e300;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_in = std::ranges::binary_search(picked, all[i]);
    const bool is_free =
        i >= std::size_t(pick.first_pages) && i < all.size() - std::size_t(pick.last_pages);
    ASSERT_TRUE(is_in || is_free) << "page " << all[i] << " is always seen";
    if (!is_free) continue;
    const double of_page = score(shape, load_keys(shape, stored, std::span(&all[i], 1), head), q);
    (is_in ? least_in : most_out) =
        is_in ? std::min(least_in, of_page) : std::max(most_out, of_page);
  }
  EXPECT_GE(least_in, most_out - 1e-4);
}

TEST_P(Picked, TopPagesAreThoseOfTheGreatestScores) {
  const KvStep open = filled_.begin(some_requests(filled_));
  int able = 0;
  for (const TopPages pick :
       {TopPages{4, 1, 2}, {3, 1, 2}, {1, 0, 1}, {7, 0, 3}, {9, 4, 1}, {64, 1, 2}})
    for (const int group : {kFull, kWindowed})
      for (int layer = 0; layer < (group == kFull ? 2 : 1); ++layer) {
        SCOPED_TRACE(testing::Message() << pick.pages << " pages, group " << group);
        const auto numbers = filled_.queries(open, group);
        const auto picks = PickedPages::top_pages(open, group, layer, q_view(numbers), pick);
        std::int64_t seen = 0;
        std::int64_t token = 0;
        for (std::size_t r = 0; r < 6; token += open.q_lens()[r++]) {
          seen += tokens_in(picks.picked(int(r), 0), open.kv_lens()[r]);
          for (int head = 0; open.q_lens()[r] == 1 && head < 2; ++head)
            expect_best(filled_, open, group, layer, r, head, picks.picked(int(r), head), pick,
                        numbers.data() + (token * 6 + head * 3) * 32);
        }
        EXPECT_EQ(picks.seen_tokens(), seen);
        expect_tables(picks, open, group, 2);
        able += expect_attention(filled_, picks, open, group, layer, numbers);
      }
  EXPECT_GE(able, 2 * 18) << "too few backends read tables per KV head";
}

TEST_P(Picked, RequestsWithSeveralNewTokensSeeEverything) {
  const std::size_t one = filled_.add(90), other = filled_.add(100);
  const KvStep open = filled_.begin({{one, 2}, {other, 30}});
  const auto numbers = filled_.queries(open, kFull);
  const auto picks = PickedPages::top_pages(open, kFull, 1, q_view(numbers),
                                            {.pages = 3, .first_pages = 1, .last_pages = 2});
  for (int head = 0; head < 2; ++head) {
    EXPECT_EQ(vector_of(picks.picked(0, head)), pages_with(92, [](int) { return true; }));
    EXPECT_EQ(vector_of(picks.picked(1, head)), pages_with(130, [](int) { return true; }));
  }
  EXPECT_FALSE(picks.is_approximate());
  EXPECT_EQ(picks.to_string(), "exact: all 222 tokens seen");
  EXPECT_GE(expect_attention(filled_, picks, open, kFull, 1, numbers), 2);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Picked,
    testing::Values(PickCase{DType::f32, DType::f32}, PickCase{DType::bf16, DType::bf16},
                    PickCase{DType::f16, DType::f16}, PickCase{DType::bf16, DType::f8e4m3},
                    PickCase{DType::bf16, DType::i8}),
    [](const auto& c) {
      return std::string(name_of(c.param.q_type)) + "_" + std::string(name_of(c.param.kv_type));
    });

class PickedPagesOf : public testing::Test {
 protected:
  PickedPagesOf() : filled_(options_of(DType::f32, DType::f32)) {}
  FilledCache filled_;
  std::vector<float> q_ = std::vector<float>(12 * 32, 0.5F);
  TensorView q_view(std::int64_t tokens = 1) const {
    return dense(q_.data(), DType::f32, {tokens, 6, 32});
  }
};

TEST_F(PickedPagesOf, SayHowMuchTheySee) {
  const std::size_t sequence = filled_.add(100);
  const KvStep open = filled_.begin({{sequence, 1}});
  const auto some = PickedPages::top_pages(open, kFull, 0, q_view(), {4, 1, 2});
  EXPECT_TRUE(some.is_approximate());
  EXPECT_EQ(some.tokens(), 101);
  EXPECT_EQ(some.seen_tokens(), 3 * 8 + 5);
  EXPECT_EQ(some.to_string(), "approximate: 29 of 101 tokens seen");
  const auto all = PickedPages::top_pages(open, kFull, 0, q_view(), {13, 1, 2});
  EXPECT_FALSE(all.is_approximate());
  EXPECT_EQ(all.to_string(), "exact: all 101 tokens seen");
  const auto window = PickedPages::sinks_and_window(open, kFull, {4, 16});
  EXPECT_EQ(window.to_string(), "approximate: 29 of 101 tokens seen");  // 0-7, 80-100
}

// What a window has passed is not left out: nobody would have seen it.
TEST_F(PickedPagesOf, AWindowThatIsSeenWholeIsNoApproximation) {
  const std::size_t sequence = filled_.add(100);
  const KvStep open = filled_.begin({{sequence, 1}});
  const auto top = PickedPages::top_pages(open, kWindowed, 0, q_view(), {64, 1, 2});
  EXPECT_FALSE(top.is_approximate()) << top.to_string();
  const auto window = PickedPages::sinks_and_window(open, kWindowed, {4, 1024});
  EXPECT_FALSE(window.is_approximate()) << window.to_string();
  const auto part = PickedPages::sinks_and_window(open, kWindowed, {0, 4});
  EXPECT_TRUE(part.is_approximate()) << part.to_string();
}

TEST_F(PickedPagesOf, RefuseBadInput) {
  const std::size_t sequence = filled_.add(30);
  KvStep open = filled_.begin({{sequence, 1}});
  const auto top = [&](int group, int layer, const TensorView& q, const TopPages& pick) {
    return PickedPages::top_pages(open, group, layer, q, pick);
  };
  EXPECT_NO_THROW(top(kFull, 1, q_view(), {}));
  EXPECT_THROW(top(kWithoutBounds, 0, q_view(), {}), Error);
  EXPECT_THROW(top(-1, 0, q_view(), {}), Error);
  EXPECT_THROW(top(3, 0, q_view(), {}), Error);
  EXPECT_THROW(top(kFull, 2, q_view(), {}), Error);
  EXPECT_THROW(top(kFull, -1, q_view(), {}), Error);
  EXPECT_THROW(top(kFull, 0, {}, {}), Error);
  EXPECT_THROW(top(kFull, 0, q_view(2), {}), Error);
  EXPECT_THROW(top(kFull, 0, q_view(0), {}), Error);
  EXPECT_THROW(top(kFull, 0, dense(q_.data(), DType::f32, {1, 5, 32}), {}), Error);
  EXPECT_THROW(top(kFull, 0, dense(q_.data(), DType::f32, {1, 6, 31}), {}), Error);
  EXPECT_THROW(top(kFull, 0, dense(q_.data(), DType::f32, {1, 6 * 32}), {}), Error);
  EXPECT_THROW(top(kFull, 0, dense(q_.data(), DType::i8, {1, 6, 32}), {}), Error);
  EXPECT_THROW(top(kFull, 0, dense(q_.data(), DType::f32, {1, 6, 32}, {DeviceType::cuda, 0}), {}),
               Error);
  for (const TopPages bad : {TopPages{2, 1, 2},
                             {4, -1, 2},
                             {4, 1, 0},
                             {4, 1, -3},
                             {-1, 0, 1},
                             {0, 0, 1},
                             {1 << 30, (1LL << 31) - 1, (1LL << 31) - 1}})
    EXPECT_THROW(top(kFull, 0, q_view(), bad), Error) << bad.pages;
  for (const SinksAndWindow bad : {SinksAndWindow{-1, 4}, {4, -1}})
    EXPECT_THROW(PickedPages::sinks_and_window(open, kFull, bad), Error);
  EXPECT_THROW(PickedPages::sinks_and_window(open, 3, {}), Error);
  const auto picks = top(kFull, 1, q_view(), {});
  EXPECT_THROW(picks.picked(1, 0), Error);
  EXPECT_THROW(picks.picked(-1, 0), Error);
  EXPECT_THROW(picks.picked(0, 2), Error);
  EXPECT_THROW(picks.picked(0, -1), Error);
  open.commit();
  EXPECT_THROW(top(kFull, 0, q_view(), {}), Error) << "the step has ended";
  EXPECT_THROW(PickedPages::sinks_and_window(open, kFull, {}), Error);
}

// Two caches with a step open each: pages are not looked up in the other one's sequences.
}  // namespace
}  // namespace headwise
