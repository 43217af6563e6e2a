// Requests that share a prefix: what a launch of its own reads for them, and that every row's parts
// are found by the step's launch.

#include "cuda/schedule/prefix_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "cuda/schedule/prefix_groups.h"
#include "tests/cuda/schedule_step.h"

namespace headwise::cuda {
namespace {

/// How either launch is cut.
struct Rules {
  ShareRules prefix{.blocks = 132, .rows = 128, .keys = 128};
  std::int32_t tile = 128;
  std::int64_t most_rows = 50'000;
  bool shares = true;  ///< the step's launch; else a queue
  ShareRules own{.blocks = 132, .rows = 8, .keys = 64};
  CuttingRules queue = kRules;
};

/// Both launches of a step.
struct Launches {
  PrefixBundles bundles;
  Schedule prefix, own;
  std::int64_t own_part_rows = 0;  ///< that the step's launch may have

  Launches(const AttentionShape& shape, const Step& step, Rules rules)
      : bundles(bundle_prefixes(
            shape, step.batch,
            {.rows = rules.prefix.rows, .tile = rules.tile, .most_rows = rules.most_rows})) {
    rules.own.following_rows = rules.most_rows;
    rules.queue.most_part_rows += rules.most_rows;
    own_part_rows = rules.shares ? rules.own.most_part_rows() : rules.queue.most_part_rows;
    const auto make = rules.shares ? make_prefix_schedule : make_prefix_queue;
    make(shape, step.batch, rules.prefix, own_part_rows, bundles, prefix);
    if (rules.shares)
      make_shares(shape, step.batch, rules.own, own, bundles);
    else
      make_schedule(shape, step.batch, rules.queue, own, bundles);
  }
};

/// What an item leaves in a row of partial results.
struct Written {
  std::int32_t request, kv_head, row, slot_begin, slot_end;
};

class Replay {
 public:
  Replay(const AttentionShape& shape, const Step& step, const Launches& launches)
      : shape_(shape), step_(step), launches_(launches), first_tokens_{0} {
    for (const std::int32_t q_len : step.q_lens)
      first_tokens_.push_back(first_tokens_.back() + q_len);
    for (const WorkItem& item : launches.prefix.items) {
      EXPECT_EQ(item.is_prefix, 1);
      EXPECT_GE(item.part_row, launches.own_part_rows);
      write(item);
    }
    for (const WorkItem& item : launches.own.items) {
      EXPECT_EQ(item.is_prefix, 0);
      write(item);
    }
  }

  /// Every row is read as the kernel does: its keys are all there, one part behind the other.
  void expect_complete() const {
    std::map<std::tuple<int, int, int>, bool> merged;
    for (const WorkItem& item : launches_.own.items)
      for (std::int32_t row = 0; row < item.rows; ++row) {
        merged[{item.request, item.kv_head, item.row + row}] = true;
        if (item.split >= 0) {
          expect_row(launches_.own.splits[static_cast<std::size_t>(item.split)], item, row);
        } else {
          ASSERT_EQ(item.slot_begin, 0);
          expect_end(item, row, item.slot_end);
        }
        if (::testing::Test::HasFatalFailure()) return;
      }
    EXPECT_EQ(static_cast<std::int64_t>(merged.size()),
              step_.tokens() * shape_.kv_heads * shape_.group_size());
  }

 private:
  void write(const WorkItem& item) {
    const int group = shape_.group_size();
    for (std::int32_t row = 0; item.part_row >= 0 && row < item.rows; ++row) {
      Written part{item.request, item.kv_head, item.row + row, item.slot_begin, item.slot_end};
      if (item.is_prefix != 0) {
        const SharedToken token = launches_.prefix.shared_tokens.at(
            static_cast<std::size_t>(item.first_token + (item.row + row) / group));
        part.request = token.request;
        part.row = (token.token - first_tokens_[static_cast<std::size_t>(token.request)]) * group +
                   (item.row + row) % group;
      }
      ASSERT_TRUE(written_.emplace(item.part_row + row, part).second);
    }
  }

  void expect_row(const Split& split, const WorkItem& item, std::int32_t row) const {
    std::int32_t slot = 0;
    for (std::int32_t part = 0; part < split.prefix_parts + split.parts; ++part) {
      const std::int32_t own = part - split.prefix_parts;
      const Written& found = written_.at(own < 0 ? split.prefix_row + part * split.prefix_rows + row
                                                 : split.part_row + own * split.rows + row);
      ASSERT_EQ(found.request, item.request);
      ASSERT_EQ(found.kv_head, item.kv_head);
      ASSERT_EQ(found.row, item.row + row);
      if (found.slot_begin == found.slot_end) continue;  // none that its rows see
      ASSERT_EQ(found.slot_begin, slot);
      slot = found.slot_end;
    }
    expect_end(item, row, slot);
  }

  void expect_end(const WorkItem& item, std::int32_t row, std::int32_t end) const {
    const auto request = static_cast<std::size_t>(item.request);
    const std::int64_t last = step_.q_start[request] + (item.row + row) / shape_.group_size();
    ASSERT_GE(end, std::min<std::int64_t>(last + 1, step_.kv_lens[request]));
  }

  const AttentionShape& shape_;
  const Step& step_;
  const Launches& launches_;
  std::vector<std::int32_t> first_tokens_;
  std::map<std::int32_t, Written> written_;
};

/// Keys that are read, each once a KV head and item.
std::int64_t keys_read(const Schedule& schedule) {
  std::int64_t keys = 0;
  for (const WorkItem& item : schedule.items) keys += item.slot_end - item.slot_begin;
  return keys;
}

TEST(SharedPrefixes, RandomStepsAreComplete) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int shared = 0;
  for (int round = 0; round < 400; ++round) {
    const int kv_heads = 1 + below(4);
    const AttentionShape shape = shape_of(kv_heads * (1 + below(9)), kv_heads);
    std::vector<std::int32_t> q, kv, group, tokens;
    for (int r = below(40); r >= 0; --r) {
      q.push_back(below(4) == 0 ? below(90) : below(3));
      group.push_back(below(5) - 1);
      tokens.push_back(group.back() < 0 ? 0 : 300 * (group.back() + 1) + below(100));
      kv.push_back(tokens.back() + q.back() + (below(4) == 0 ? 0 : below(4000)));
    }
    Step step(q, kv);
    step.share(group, tokens);
    Rules rules;
    rules.prefix.blocks = rules.own.blocks = rules.queue.blocks = 1 + below(300);
    rules.prefix.rows = below(2) == 0 ? 128 : 32;
    rules.prefix.keys = below(2) == 0 ? 128 : 64;
    rules.shares = below(2) == 0;
    rules.own.rows = 8 << below(5);
    rules.queue.wide_rows = below(2) == 0 ? 128 : 64;
    if (below(4) == 0) rules.queue.most_part_rows = below(3000);
    if (below(4) == 0) rules.most_rows = below(3000);
    const Launches launches(shape, step, rules);
    Replay(shape, step, launches).expect_complete();
    const Capacity capacity{.requests = static_cast<std::int64_t>(q.size()),
                            .tokens = step.tokens()};
    EXPECT_LE(launches.prefix.part_rows, most_prefix_rows(rules.most_rows, rules.prefix));
    EXPECT_LE(launches.own.part_rows, launches.own_part_rows);
    const ScheduleBounds bounds = prefix_bounds(shape, capacity, rules.prefix);
    EXPECT_LE(std::ssize(launches.prefix.items), bounds.items);
    EXPECT_LE(std::ssize(launches.prefix.shared_tokens), bounds.shared_tokens);
    EXPECT_TRUE(launches.prefix.splits.empty());
    rules.own.following_rows = rules.most_rows;
    rules.queue.most_part_rows += rules.most_rows;
    const ScheduleBounds own =
        rules.shares ? share_bounds(shape, capacity.requests, capacity.tokens, rules.own)
                     : schedule_bounds(shape, capacity.requests, capacity.tokens, rules.queue);
    EXPECT_LE(std::ssize(launches.own.items), own.items);
    EXPECT_LE(std::ssize(launches.own.splits), own.splits);
    shared += launches.bundles.bundles.empty() ? 0 : 1;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(shared, 150);
}

TEST(SharedPrefixes, ALongPrefixIsReadOnceByAllBlocks) {
  constexpr std::int32_t kPrefix = 32'768;
  Step step(std::vector<std::int32_t>(64, 1), std::vector<std::int32_t>(64, kPrefix + 1024));
  const AttentionShape shape = shape_of(32, 8);
  EXPECT_EQ(keys_read(Launches(shape, step, {}).own), std::int64_t{8} * 64 * (kPrefix + 1024));
  step.share(std::vector<std::int32_t>(64, 0), std::vector<std::int32_t>(64, kPrefix));
  const Launches together(shape, step, {});
  Replay(shape, step, together).expect_complete();
  // 256 rows a KV head are two items, which read the prefix each.
  EXPECT_EQ(keys_read(together.prefix), std::int64_t{8} * 2 * kPrefix);
  EXPECT_EQ(keys_read(together.own), 8 * 64 * 1024);
  EXPECT_GE(std::ssize(together.prefix.items), 120);
}

TEST(SharedPrefixes, RequestsThatDoNotSeeThePrefixReadTheirOwn) {
  Step step({1, 1, 1, 4}, {2000, 2000, 2000, 700});
  step.q_start[2] = 900;  // stands inside the prefix
  step.batch.q_start = step.q_start;
  step.share({3, 3, 3, 3}, {1000, 1024, 1024, 650});
  const auto groups = prefix_groups(shape_of(8, 2), step.batch, 64);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].keys, 640);  // the least one, in whole tiles
  EXPECT_EQ(groups[0].requests, (std::vector<std::int32_t>{0, 1, 2, 3}));
  step.q_start[2] = 600;
  EXPECT_EQ(prefix_groups(shape_of(8, 2), step.batch, 64)[0].requests,
            (std::vector<std::int32_t>{0, 1, 3}));
  // A window that hides the first keys from the longer ones.
  EXPECT_TRUE(prefix_groups(shape_of(8, 2, 1000), step.batch, 64).empty());
  EXPECT_EQ(prefix_groups(shape_of(8, 2, 1999), step.batch, 64).size(), 1U);
  EXPECT_TRUE(prefix_groups(shape_of(8, 2, 1998), step.batch, 64).empty());
}

TEST(SharedPrefixes, OnlyWhatPaysIsShared) {
  const auto shares = [](std::vector<std::int32_t> q, std::int32_t prefix, Rules rules = {}) {
    std::vector<std::int32_t> kv;
    for (const std::int32_t q_len : q) kv.push_back(prefix + q_len + 500);
    const std::size_t requests = q.size();
    Step step(std::move(q), std::move(kv));
    step.share(std::vector<std::int32_t>(requests, 0), std::vector<std::int32_t>(requests, prefix));
    return !Launches(shape_of(8, 2), step, rules).prefix.items.empty();
  };
  EXPECT_TRUE(shares({1, 1}, 1024));
  EXPECT_FALSE(shares({1, 1}, 127)) << "less than a tile";
  EXPECT_FALSE(shares({1, 0}, 1024)) << "one request";
  EXPECT_FALSE(shares({256, 256}, 1024)) << "full tiles each";
  EXPECT_TRUE(shares({12, 12, 1}, 1024));
  Rules rules;
  rules.most_rows = 15;
  EXPECT_FALSE(shares({1, 1}, 1024, rules)) << "no room for results";
}

TEST(SharedPrefixes, NewTokensAreNotReadAheadOfTheLaunchBefore) {
  // The prefix includes the third request's new token.
  Step step({1, 1, 1}, {2000, 2000, 1024});
  step.share({0, 0, 0}, {1024, 1024, 1024});
  const Launches launches(shape_of(8, 2), step, {});
  EXPECT_TRUE(launches.bundles.shares(0));
  EXPECT_TRUE(launches.bundles.shares(1));
  EXPECT_FALSE(launches.bundles.shares(2));
}

TEST(SharedPrefixes, NoRequestIsLeftOverAlone) {
  Step step(std::vector<std::int32_t>(33, 1), std::vector<std::int32_t>(33, 3000));
  step.share(std::vector<std::int32_t>(33, 0), std::vector<std::int32_t>(33, 2048));
  const Launches launches(shape_of(8, 2), step, {});  // 132 rows
  ASSERT_EQ(launches.bundles.bundles.size(), 2U);
  EXPECT_EQ(launches.bundles.bundles[0].tokens, 17);
  EXPECT_EQ(launches.bundles.bundles[1].tokens, 16);
}

}  // namespace
}  // namespace headwise::cuda
