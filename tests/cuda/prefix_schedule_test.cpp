// Requests that share a prefix: what is read together, and that every row's parts are found.

#include "cuda/schedule/shared_prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "cuda/schedule/prefix_groups.h"
#include "tests/cuda/schedule_step.h"

namespace headwise::cuda {
namespace {

/// What an item leaves in a row of partial results, and how many items count for a split.
struct Written {
  std::int32_t request, kv_head, row, slot_begin, slot_end;
};

class Replay {
 public:
  Replay(const AttentionShape& shape, const Step& step, const Schedule& schedule)
      : shape_(shape), step_(step), schedule_(schedule), first_tokens_{0} {
    for (const std::int32_t q_len : step.q_lens)
      first_tokens_.push_back(first_tokens_.back() + q_len);
    for (const WorkItem& item : schedule.items) write(item);
  }

  /// Reads every split's rows as the kernel does: their keys are all there, one part behind the
  /// other.
  void expect_complete() const {
    std::map<std::tuple<int, int, int>, bool> merged;
    for (std::size_t i = 0; i < schedule_.splits.size(); ++i) {
      const Split& split = schedule_.splits[i];
      ASSERT_EQ(split.items, arrivals_.at(static_cast<std::int32_t>(i)));
      const WorkItem& item = schedule_.items[static_cast<std::size_t>(split.item)];
      ASSERT_EQ(item.split, static_cast<std::int32_t>(i));
      ASSERT_EQ(item.shared_by, 0);
      ASSERT_EQ(item.rows, split.rows);
      for (std::int32_t row = 0; row < split.rows; ++row) {
        expect_row(split, item, row);
        merged[{item.request, item.kv_head, item.row + row}] = true;
      }
    }
    for (const WorkItem& item : schedule_.items)
      for (std::int32_t row = 0; item.part_row < 0 && row < item.rows; ++row) {
        ASSERT_EQ(item.shared_by, 0);
        merged[{item.request, item.kv_head, item.row + row}] = true;
      }
    ASSERT_EQ(static_cast<std::int64_t>(merged.size()), step_.tokens() * shape_.q_heads);
  }

 private:
  void write(const WorkItem& item) {
    for (std::int32_t i = 0; i < std::max(1, item.shared_by); ++i) ++arrivals_[item.split + i];
    const int group = shape_.group_size();
    for (std::int32_t row = 0; item.part_row >= 0 && row < item.rows; ++row) {
      Written part{item.request, item.kv_head, item.row + row, item.slot_begin, item.slot_end};
      if (item.shared_by > 0) {
        const SharedToken token = schedule_.shared_tokens.at(
            static_cast<std::size_t>(item.first_token + (item.row + row) / group));
        part.request = token.request;
        part.row = (token.token - first_tokens_[static_cast<std::size_t>(token.request)]) * group +
                   (item.row + row) % group;
      }
      ASSERT_LT(item.part_row + row, schedule_.part_rows);
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
      ASSERT_EQ(found.slot_begin, slot);
      slot = found.slot_end;
    }
    const auto request = static_cast<std::size_t>(item.request);
    const std::int64_t last = step_.q_start[request] + (item.row + row) / shape_.group_size();
    ASSERT_GE(slot, std::min<std::int64_t>(last + 1, step_.kv_lens[request]));
  }

  const AttentionShape& shape_;
  const Step& step_;
  const Schedule& schedule_;
  std::vector<std::int32_t> first_tokens_;
  std::map<std::int32_t, Written> written_;
  std::map<std::int32_t, std::int32_t> arrivals_;
};

std::int64_t shared_items(const Schedule& schedule) {
  std::int64_t count = 0;
  for (const WorkItem& item : schedule.items) count += item.shared_by > 0 ? 1 : 0;
  return count;
}

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
  for (int round = 0; round < 300; ++round) {
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
    CuttingRules rules = kRules;
    rules.blocks = 1 + below(300);
    rules.wide_rows = below(2) == 0 ? 128 : 64;
    rules.most_part_rows = below(4) == 0 ? below(3000) : 60'000;
    const Schedule schedule = schedule_of(shape, step, rules);
    Replay(shape, step, schedule).expect_complete();
    EXPECT_LE(schedule.part_rows, rules.most_part_rows);
    const ScheduleBounds bounds =
        schedule_bounds(shape, static_cast<std::int64_t>(q.size()), step.tokens(), rules);
    EXPECT_LE(static_cast<std::int64_t>(schedule.items.size()), bounds.items);
    EXPECT_LE(static_cast<std::int64_t>(schedule.splits.size()), bounds.splits);
    EXPECT_LE(static_cast<std::int64_t>(schedule.shared_tokens.size()), bounds.shared_tokens);
    shared += shared_items(schedule) > 0 ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(shared, 150);
}

TEST(SharedPrefixes, ALongPrefixIsReadOnceByAllBlocks) {
  constexpr std::int32_t kPrefix = 32'768;
  Step step(std::vector<std::int32_t>(64, 1), std::vector<std::int32_t>(64, kPrefix + 1024));
  const Schedule apart = schedule_of(shape_of(32, 8), step, kRules);
  step.share(std::vector<std::int32_t>(64, 0), std::vector<std::int32_t>(64, kPrefix));
  const Schedule together = schedule_of(shape_of(32, 8), step, kRules);
  Replay(shape_of(32, 8), step, together).expect_complete();
  // 256 rows a KV head are two wide items, which read the prefix each.
  EXPECT_EQ(keys_read(together), 8 * (2 * kPrefix + 64 * 1024));
  EXPECT_EQ(keys_read(apart), std::int64_t{8} * 64 * (kPrefix + 1024));
  EXPECT_GE(shared_items(together), 2 * kRules.blocks / 3);
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
  const auto shares = [](std::vector<std::int32_t> q, std::int32_t prefix, CuttingRules rules) {
    std::vector<std::int32_t> kv;
    for (const std::int32_t q_len : q) kv.push_back(prefix + q_len + 500);
    const std::size_t requests = q.size();
    Step step(std::move(q), std::move(kv));
    step.share(std::vector<std::int32_t>(requests, 0), std::vector<std::int32_t>(requests, prefix));
    return shared_items(schedule_of(shape_of(8, 2), step, rules)) > 0;
  };
  EXPECT_TRUE(shares({1, 1}, 1024, kRules));
  EXPECT_FALSE(shares({1, 1}, 64, kRules)) << "one tile";
  EXPECT_FALSE(shares({1, 0}, 1024, kRules)) << "one request";
  EXPECT_FALSE(shares({256, 256}, 1024, kRules)) << "full tiles each";
  EXPECT_TRUE(shares({40, 40, 1}, 1024, kRules));
  CuttingRules rules = kRules;
  rules.most_part_rows = 15;
  EXPECT_FALSE(shares({1, 1}, 1024, rules)) << "no room for results";
  rules = kRules;
  rules.fixed_split = 2048;
  EXPECT_FALSE(shares({1, 1}, 1024, rules)) << "sums would depend on the step";
}

}  // namespace
}  // namespace headwise::cuda
