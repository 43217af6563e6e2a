#include "cuda/schedule/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "tests/cuda/schedule_step.h"

namespace headwise::cuda {
namespace {

constexpr ShareRules kShares{.blocks = 132, .rows = 8, .keys = 64};

Schedule shares_of(const AttentionShape& shape, const Step& step, const ShareRules& rules) {
  Schedule schedule;
  make_shares(shape, step.batch, rules, schedule);
  return schedule;
}

/// Every row's visible keys are in its items exactly once, cut at tiles; parts lie one behind the
/// other, and each block has a run of items of its own.
void expect_complete(const AttentionShape& shape, const Step& step, const Schedule& schedule,
                     const ShareRules& rules) {
  ASSERT_EQ(std::ssize(schedule.block_begin), rules.blocks + 1);
  EXPECT_EQ(schedule.block_begin.front(), 0);
  EXPECT_EQ(schedule.block_begin.back(), std::ssize(schedule.items));
  EXPECT_TRUE(std::is_sorted(schedule.block_begin.begin(), schedule.block_begin.end()));
  EXPECT_LE(schedule.part_rows, rules.most_part_rows());

  std::map<std::tuple<int, int, int>, std::vector<WorkItem>> rows;  // request, KV head, row
  for (const WorkItem& item : schedule.items)
    rows[{item.request, item.kv_head, item.row}].push_back(item);
  std::map<std::pair<int, int>, int> covered;
  std::int64_t part_row = 0;
  for (const auto& [key, parts] : rows) {
    const auto [request, kv_head, row] = key;
    covered[{request, kv_head}] += parts.front().rows;
    EXPECT_LE(parts.front().rows, rules.rows);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].part_row >= 0, parts.size() > 1);
      const bool empty = parts[i].slot_begin == parts[i].slot_end;  // a team's, of its first rows
      EXPECT_TRUE(i == 0 || parts[i].slot_begin == parts[i - 1].slot_end || empty);
      EXPECT_TRUE(parts[i].slot_begin % rules.keys == 0 || empty);
      if (parts.size() == 1) continue;
      const Split& split = schedule.splits[static_cast<std::size_t>(parts[i].split)];
      EXPECT_EQ(split.parts, static_cast<std::int32_t>(parts.size()));
      EXPECT_EQ(parts[i].part_row, split.part_row + static_cast<std::int32_t>(i) * split.rows);
      part_row += split.rows;
    }
    const std::int64_t start = step.q_start[static_cast<std::size_t>(request)];
    const std::int64_t first = start + row / shape.group_size();
    const std::int64_t last = start + (row + parts.front().rows - 1) / shape.group_size();
    const std::int64_t kv_len = step.kv_lens[static_cast<std::size_t>(request)];
    const std::int64_t begin =
        shape.window_left < 0 ? 0 : std::clamp<std::int64_t>(first - shape.window_left, 0, kv_len);
    const auto seen = [](const WorkItem& item) { return item.slot_begin < item.slot_end; };
    const auto first_seen = std::find_if(parts.begin(), parts.end(), seen);
    const auto last_seen = std::find_if(parts.rbegin(), parts.rend(), seen);
    const std::int64_t end = std::clamp<std::int64_t>(last + 1, 0, kv_len);
    if (first_seen == parts.end()) {
      EXPECT_GE(begin, end);
      continue;
    }
    EXPECT_LE(first_seen->slot_begin, begin);
    EXPECT_GT(first_seen->slot_begin, begin - rules.keys);
    EXPECT_EQ(last_seen->slot_end, end);
  }
  EXPECT_EQ(part_row, schedule.part_rows);
  for (std::size_t r = 0; r < step.q_lens.size(); ++r)
    for (int head = 0; head < shape.kv_heads; ++head)
      EXPECT_EQ((covered[{static_cast<int>(r), head}]), step.q_lens[r] * shape.group_size());
}

/// Of the block that reads most keys, over the average.
double imbalance(const Schedule& schedule, int blocks) {
  double total = 0.0;
  double most = 0.0;
  for (int block = 0; block < blocks; ++block) {
    double keys = 0.0;
    const auto at = static_cast<std::size_t>(block);
    for (std::int32_t i = schedule.block_begin[at]; i < schedule.block_begin[at + 1]; ++i) {
      const WorkItem& item = schedule.items[static_cast<std::size_t>(i)];
      keys += item.slot_end - item.slot_begin;
    }
    total += keys;
    most = std::max(most, keys);
  }
  return most * blocks / total;
}

TEST(CudaShares, CoverEveryRowOfRandomStepsOnce) {
  std::mt19937 random(12);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 400; ++round) {
    const int kv_heads = 1 + below(8);
    const AttentionShape shape =
        shape_of(kv_heads * (1 + below(20)), kv_heads, below(3) == 0 ? below(3000) : -1);
    std::vector<std::int32_t> q, kv;
    for (int r = below(40); r >= 0; --r) {
      q.push_back(below(4));
      kv.push_back(
          std::max(below(4) == 0 ? 0 : q.back(), below(2) == 0 ? below(200) : below(40'000)));
    }
    const Step step(q, kv);
    ShareRules rules = kShares;
    rules.blocks = 1 + below(300);
    rules.rows = 8 << below(3);
    rules.keys = 64 << below(2);
    const Schedule schedule = shares_of(shape, step, rules);
    expect_complete(shape, step, schedule, rules);
    const ScheduleBounds bounds =
        share_bounds(shape, static_cast<std::int64_t>(q.size()), step.tokens(), rules);
    EXPECT_LE(std::ssize(schedule.items), bounds.items);
    EXPECT_LE(std::ssize(schedule.splits), bounds.splits);
    EXPECT_EQ(bounds.blocks, rules.blocks);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CudaShares, BlocksEndTogether) {
  std::vector<std::int32_t> one_long(64, 1024);
  one_long[0] = 131'072;
  std::vector<std::int32_t> spread;
  for (int r = 0; r < 64; ++r) spread.push_back(1024 * (1 + r * r % 128));
  const std::vector<std::vector<std::int32_t>> batches = {
      {131'072}, {32'768}, std::vector<std::int32_t>(16, 8192), one_long, spread};
  for (const auto& kv : batches) {
    const Step step(std::vector<std::int32_t>(kv.size(), 1), kv);
    EXPECT_LE(imbalance(shares_of(shape_of(32, 8), step, kShares), kShares.blocks), 1.08);
  }
}

/// What a block begins and ends with costs as much as some keys, so that whole items are better
/// than equal shares.
TEST(CudaShares, EvenBatchesAreCutAtRequests) {
  const Step step(std::vector<std::int32_t>(16, 1), std::vector<std::int32_t>(16, 8192));
  const Schedule schedule = shares_of(shape_of(32, 8), step, kShares);
  EXPECT_TRUE(schedule.splits.empty());
}

/// Rows of a request that are several items: a team's blocks read the same keys, an item's rows
/// each.
TEST(CudaShares, ATeamReadsTheSameKeys) {
  ShareRules rules = kShares;
  rules.rows = 128;
  rules.keys = 128;
  for (const int new_tokens : {64, 96, 160, 256, 512}) {
    const Step step({new_tokens}, {32'768 + new_tokens});
    const AttentionShape shape = shape_of(32, 8);
    const int team = team_size(shape, step.batch, rules);
    ASSERT_EQ(team, (new_tokens * 4 + 127) / 128);
    const Schedule schedule = shares_of(shape, step, rules);
    expect_complete(shape, step, schedule, rules);
    EXPECT_LE(imbalance(schedule, rules.blocks / team * team), 1.15) << new_tokens;
    for (std::size_t block = 0; block + team <= schedule.block_begin.size() - 1; block += team)
      for (int member = 0; member < team; ++member) {
        const auto at = block + static_cast<std::size_t>(member);
        if (schedule.block_begin[at] == schedule.block_begin[at + 1]) continue;
        const WorkItem& item = schedule.items[static_cast<std::size_t>(schedule.block_begin[at])];
        EXPECT_EQ(item.row, member * rules.rows);
        EXPECT_EQ(item.slot_begin,
                  schedule.items[static_cast<std::size_t>(schedule.block_begin[block])].slot_begin);
      }
  }
  // Without so many blocks each takes item after item.
  rules.blocks = 3;
  EXPECT_EQ(team_size(shape_of(32, 8), Step({512}, {4096}).batch, rules), 1);
}

TEST(CudaShares, FewKeysGetFewBlocks) {
  const AttentionShape shape = shape_of(32, 8);
  EXPECT_EQ(most_blocks(shape, {.requests = 1, .tokens = 1, .q_len = 1, .kv_len = 1024}, kShares),
            64);
  EXPECT_EQ(most_blocks(shape, {.requests = 1, .tokens = 1, .q_len = 1, .kv_len = 9000}, kShares),
            kShares.blocks);
  EXPECT_EQ(most_blocks(shape, {.requests = 0, .tokens = 0, .q_len = 0, .kv_len = 0}, kShares), 1);
}

TEST(CudaShares, AStepWithoutKeysStillWritesItsRows) {
  const Step step({1, 0, 1}, {0, 10, 0});
  const Schedule schedule = shares_of(shape_of(8, 2), step, kShares);
  EXPECT_EQ(schedule.items.size(), 4U);
  EXPECT_TRUE(schedule.splits.empty());
}

TEST(CudaShares, AStepWithoutRowsHasNone) {
  const Step step({0, 0}, {5, 10});
  const Schedule schedule = shares_of(shape_of(8, 2), step, kShares);
  EXPECT_TRUE(schedule.items.empty());
  EXPECT_EQ(schedule.block_begin.back(), 0);
}

}  // namespace
}  // namespace headwise::cuda
