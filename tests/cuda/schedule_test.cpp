#include "cuda/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <random>
#include <tuple>

#include "tests/cuda/schedule_step.h"

namespace headwise::cuda {
namespace {

using Rows = std::tuple<int, int, int>;  // request, KV head, first row

/// Every row's visible keys are in its items exactly once; parts lie one behind the other.
void expect_complete(const AttentionShape& shape, const Step& step, const Schedule& schedule,
                     const CuttingRules& rules) {
  std::map<Rows, std::vector<WorkItem>> items;
  std::vector<bool> taken(static_cast<std::size_t>(schedule.part_rows));
  for (const WorkItem& item : schedule.items) {
    items[{item.request, item.kv_head, item.row}].push_back(item);
    EXPECT_LE(item.rows, rules.wide_rows);
    EXPECT_EQ(item.kv_len, step.kv_lens[static_cast<std::size_t>(item.request)]);
    for (std::int32_t row = 0; item.part_row >= 0 && row < item.rows; ++row) {
      ASSERT_LT(item.part_row + row, schedule.part_rows);
      EXPECT_FALSE(taken[static_cast<std::size_t>(item.part_row + row)]);
      taken[static_cast<std::size_t>(item.part_row + row)] = true;
    }
  }
  EXPECT_EQ(std::count(taken.begin(), taken.end(), false), 0);

  std::map<std::pair<int, int>, std::int64_t> rows;
  for (auto& [key, parts] : items) {
    const auto [request, kv_head, row] = key;
    rows[{request, kv_head}] += parts.front().rows;
    std::sort(parts.begin(), parts.end(),
              [](const WorkItem& a, const WorkItem& b) { return a.slot_begin < b.slot_begin; });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].part_row >= 0, parts.size() > 1);
      EXPECT_TRUE(i == 0 || parts[i].slot_begin == parts[i - 1].slot_end);
      if (parts.size() == 1) continue;
      const Split& split = schedule.splits[static_cast<std::size_t>(parts[i].split)];
      EXPECT_EQ(split.parts, static_cast<std::int32_t>(parts.size()));
      EXPECT_EQ(parts[i].part_row, split.part_row + static_cast<std::int32_t>(i) * split.rows);
    }
    const std::int64_t start = step.q_start[static_cast<std::size_t>(request)];
    const int group = shape.group_size();
    const std::int64_t first = start + row / group;
    const std::int64_t last = start + (row + parts.front().rows - 1) / group;
    const std::int64_t kv_len = step.kv_lens[static_cast<std::size_t>(request)];
    const std::int64_t begin =
        shape.window_left < 0 ? 0 : std::clamp<std::int64_t>(first - shape.window_left, 0, kv_len);
    EXPECT_LE(parts.front().slot_begin, begin);
    EXPECT_GE(parts.back().slot_end, std::clamp<std::int64_t>(last + 1, 0, kv_len));
  }
  for (std::size_t r = 0; r < step.q_lens.size(); ++r)
    for (int head = 0; head < shape.kv_heads; ++head)
      EXPECT_EQ((rows[{static_cast<int>(r), head}]),
                std::int64_t{step.q_lens[r]} * shape.group_size());
}

/// Keys read by the busiest block over the average, where each takes the next item when it is done.
double imbalance(const Schedule& schedule, int blocks) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int i = 0; i < blocks; ++i) free.push(0.0);
  double total = 0.0;
  double end = 0.0;
  for (const WorkItem& item : schedule.items) {
    const double keys = item.slot_end - item.slot_begin;
    const double done = free.top() + keys;
    free.pop();
    free.push(done);
    total += keys;
    end = std::max(end, done);
  }
  return end * blocks / total;
}

TEST(CudaSchedule, CoversEveryRowOfRandomStepsOnce) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const int kv_heads = 1 + below(8);
    const AttentionShape shape =
        shape_of(kv_heads * (1 + below(20)), kv_heads, below(3) == 0 ? below(3000) : -1);
    std::vector<std::int32_t> q, kv;
    for (int r = below(12); r >= 0; --r) {
      q.push_back(below(3) == 0 ? below(700) : below(3));
      kv.push_back(
          std::max(below(4) == 0 ? 0 : q.back(), below(2) == 0 ? below(200) : below(40'000)));
    }
    const Step step(q, kv);
    CuttingRules rules = kRules;
    rules.blocks = 1 + below(300);
    rules.most_part_rows = below(4) == 0 ? below(500) : 60'000;
    rules.short_first = below(2) * 64;
    rules.fixed_split = below(3) == 0 ? 2048 : 0;
    const Schedule schedule = schedule_of(shape, step, rules);
    expect_complete(shape, step, schedule, rules);
    EXPECT_LE(schedule.part_rows, rules.most_part_rows);
    const ScheduleBounds bounds =
        schedule_bounds(shape, static_cast<std::int64_t>(q.size()), step.tokens(), rules);
    EXPECT_LE(static_cast<std::int64_t>(schedule.items.size()), bounds.items);
    EXPECT_LE(static_cast<std::int64_t>(schedule.splits.size()), bounds.splits);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CudaSchedule, OneLongContextKeepsEveryBlockBusy) {
  const Step step({1}, {131'072});
  const Schedule schedule = schedule_of(shape_of(32, 8), step, kRules);
  EXPECT_LE(imbalance(schedule, kRules.blocks), 1.05);
}

TEST(CudaSchedule, UnevenBatchesEndTogether) {
  std::vector<std::int32_t> one_long(64, 1024);
  one_long[0] = 131'072;
  std::vector<std::int32_t> spread;
  for (int r = 0; r < 64; ++r) spread.push_back(1024 * (1 + r * r % 128));
  for (const auto& kv : {one_long, spread}) {
    const Step step(std::vector<std::int32_t>(64, 1), kv);
    EXPECT_LE(imbalance(schedule_of(shape_of(32, 8), step, kRules), kRules.blocks), 1.15);
  }
}

// Row tiles of a causal append cost nearly the same: none may be left for a wave of its own.
TEST(CudaSchedule, FewWideItemsFillWaves) {
  CuttingRules rules = kRules;
  rules.blocks = 132;
  rules.most_part_rows = 264 * 192;
  for (const auto& [rows, new_tokens] : {std::pair{128, 64}, {128, 256}, {192, 512}}) {
    rules.wide_rows = rows;
    rules.narrow_rows = 64;
    const Step step({new_tokens}, {32'768 + new_tokens});
    EXPECT_LE(imbalance(schedule_of(shape_of(32, 8), step, rules), rules.blocks), 1.1);
  }
}

// Decodes leave the products' units to prompts that run at the same time.
TEST(CudaSchedule, DecodesRunBesidePrompts) {
  for (const auto& [prompts, decodes, context] :
       {std::tuple{2, 128, 2048}, {1, 16, 30'000}, {4, 3, 500}}) {
    std::vector<std::int32_t> q(static_cast<std::size_t>(prompts), 2048);
    std::vector<std::int32_t> kv = q;
    q.resize(q.size() + static_cast<std::size_t>(decodes), 1);
    kv.resize(q.size(), context);
    const Step step(q, kv);
    const Schedule schedule = schedule_of(shape_of(32, 8), step, kRules);
    std::array<double, 2> total{};
    const auto keys = [](const WorkItem& item) { return item.slot_end - item.slot_begin; };
    for (const WorkItem& item : schedule.items) total[item.q_len == 1] += keys(item);
    std::array<double, 2> done{};
    for (const WorkItem& item : schedule.items) {
      done[item.q_len == 1] += keys(item);
      const double share = done[0] / total[0];
      EXPECT_NEAR(done[1] / total[1], std::min(1.0, 1.1 * share), 0.15) << share;
    }
  }
}

/// What does not fill a tile are a prompt's first rows, which see fewest keys, in whole steps.
TEST(CudaSchedule, TheShortTileComesFirst) {
  CuttingRules rules = kRules;
  rules.wide_rows = 192;
  rules.short_first = 64;
  for (const auto& [tokens, first] : {std::pair{2048, 128}, {2000, 128}, {384, 192}, {100, 100}}) {
    const Step step({tokens}, {tokens});
    const Schedule schedule = schedule_of(shape_of(4, 4), step, rules);
    expect_complete(shape_of(4, 4), step, schedule, rules);
    for (const WorkItem& item : schedule.items)
      EXPECT_TRUE(item.row != 0 || item.rows == first) << tokens;
  }
}

TEST(CudaSchedule, FixedSplitsAreCutAtTheirMultiplesAlone) {
  const AttentionShape shape = shape_of(8, 2, 3000);
  const Step step({1, 300, 1, 7}, {40'000, 9000, 511, 4096});
  for (const int narrow_rows : {0, 64}) {
    CuttingRules rules = kRules;
    rules.narrow_rows = narrow_rows;
    rules.narrow_keys = rules.wide_keys = 128;
    rules.short_first = narrow_rows;
    rules.fixed_split = 512;
    const Schedule schedule = schedule_of(shape, step, rules);
    expect_complete(shape, step, schedule, rules);
    int inner = 0;
    for (const WorkItem& item : schedule.items) {
      EXPECT_EQ(item.slot_begin % 128, 0);
      if (item.part_row < 0) continue;
      EXPECT_EQ(item.slot_begin / 512, (item.slot_end - 1) / 512);
      if (item.slot_begin % 512 == 0 && item.slot_end % 512 == 0) ++inner;
    }
    EXPECT_GT(inner, 20);
  }
}

/// Parts of fixed length are many where contexts are long: no item is left whole for want of them.
TEST(CudaSchedule, LongDecodesInFixedSplitsEndTogether) {
  CuttingRules rules = kRules;
  rules.blocks = 132;
  rules.fixed_split = 2048;
  const Step step(std::vector<std::int32_t>(8, 1), std::vector<std::int32_t>(8, 131'072));
  const Schedule schedule = schedule_of(shape_of(32, 8), step, rules);
  EXPECT_EQ(schedule.items.size(), 8U * 8 * 64);
  EXPECT_LT(imbalance(schedule, rules.blocks), 1.1);
}

TEST(CudaSchedule, AStepKeepsItsMemory) {
  Schedule schedule;
  const Step step({1, 1}, {4096, 4096});
  make_schedule(shape_of(8, 8), step.batch, kRules, schedule);
  const auto* before = schedule.items.data();
  make_schedule(shape_of(8, 8), step.batch, kRules, schedule);
  EXPECT_EQ(schedule.items.data(), before);
}

TEST(CudaSchedule, DividersDivide) {
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    const std::uint32_t by = 1 + random() % (round % 2 == 0 ? 300 : 0x7fffffffU);
    const std::uint32_t number = random() >> (1 + random() % 30);
    EXPECT_EQ(Divider(by).divide(number), number / by) << number << " / " << by;
    EXPECT_EQ(Divider(by).divide(0x7fffffffU), 0x7fffffffU / by) << by;
  }
}

}  // namespace
}  // namespace headwise::cuda
