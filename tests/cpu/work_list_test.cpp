#include "cpu/tiled/work_list.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "attention/rows.h"
#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

struct Step {
  std::vector<std::int32_t> q_lens, kv_lens, q_start;
  StepBatch batch;

  Step(std::vector<std::int32_t> q, std::vector<std::int32_t> kv)
      : q_lens(std::move(q)), kv_lens(std::move(kv)) {
    for (std::size_t r = 0; r < q_lens.size(); ++r) q_start.push_back(kv_lens[r] - q_lens[r]);
    batch.q_lens = q_lens;
    batch.kv_lens = kv_lens;
    batch.q_start = q_start;
    batch.layout = KvLayout::packed;
  }
};

using Rows = std::tuple<int, int, int>;  // request, KV head, token

/// Every row's visible slots are in its items exactly once, and parts are numbered in the order of
/// keys.
void expect_complete(const AttentionShape& shape, const Step& step, const WorkList& list,
                     const CuttingRules& rules) {
  std::map<Rows, std::map<std::int64_t, std::int64_t>> slots;  // begin -> end
  std::map<Rows, std::map<std::int64_t, std::int64_t>> parts;  // part row -> begin
  for (const WorkItem& item : list.items) {
    EXPECT_EQ(item.slot_begin % kTileKeys, 0);
    if (rules.fixed_split > 0 && item.part_row >= 0) {
      EXPECT_EQ(item.slot_begin / rules.fixed_split, (item.slot_end - 1) / rules.fixed_split);
    }
    for (int t = 0; t < item.tokens; ++t) {
      const Rows rows{item.request, item.kv_head, item.token + t};
      EXPECT_TRUE(slots[rows].emplace(item.slot_begin, item.slot_end).second);
      if (item.part_row >= 0) parts[rows][item.part_row] = item.slot_begin;
    }
  }
  std::size_t expected = 0;
  for (std::size_t r = 0; r < step.q_lens.size(); ++r) {
    for (int t = 0; t < step.q_lens[r]; ++t) {
      const PositionRange seen = Mask(shape).seen_from(step.q_start[r] + t);
      const std::int64_t first = std::clamp<std::int64_t>(seen.first, 0, step.kv_lens[r]);
      const std::int64_t end = std::clamp<std::int64_t>(seen.last + 1, first, step.kv_lens[r]);
      for (int head = 0; head < shape.kv_heads; ++head, ++expected) {
        const auto& ranges = slots[{static_cast<int>(r), head, t}];
        ASSERT_FALSE(ranges.empty());
        std::int64_t at = ranges.begin()->first;
        EXPECT_LE(at, first);
        for (const auto& [begin, stop] : ranges) {
          EXPECT_EQ(begin, at);
          at = stop;
        }
        EXPECT_GE(at, end);
      }
    }
  }
  EXPECT_EQ(slots.size(), expected);
  for (const auto& [rows, begins] : parts) {
    std::int64_t last = -1;
    for (const auto& [part, begin] : begins) {
      EXPECT_GT(begin, last);
      last = begin;
    }
  }
  std::set<std::int64_t> used;
  for (const SplitRows& split : list.splits)
    for (int row = 0; row < split.parts * split.tokens * shape.group_size(); ++row)
      EXPECT_TRUE(used.insert(split.first_row + row).second);
  EXPECT_LE(list.part_rows, rules.most_part_rows());
  EXPECT_EQ(static_cast<std::int64_t>(used.size()), list.part_rows);
  EXPECT_TRUE(used.empty() || *used.rbegin() == list.part_rows - 1);
}

TEST(WorkList, HasEveryRowsKeysOnce) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) {
    return static_cast<int>(random() % (high - low + 1)) + low;
  };
  for (int round = 0; round < 400; ++round) {
    const int kv_heads = pick(1, 3);
    AttentionShape shape{.q_heads = kv_heads * pick(1, 8),
                         .kv_heads = kv_heads,
                         .head_dim_qk = 64,
                         .head_dim_v = 64};
    if (pick(0, 2) == 0) shape.window_left = pick(0, 3000);
    if (pick(0, 3) == 0) shape.window_right = pick(-1, 5);
    std::vector<std::int32_t> q, kv;
    for (int r = pick(1, 6); r > 0; --r) {
      kv.push_back(pick(0, 3) == 0 ? pick(0, 40000) : pick(0, 300));
      q.push_back(pick(0, 3) == 0 ? pick(0, 400) : 1);
    }
    const Step step(q, kv);
    const CuttingRules rules{pick(1, 20), 64, pick(0, 1) * 4096};
    expect_complete(shape, step, make_work_list(shape, step.batch, requests_of(step.batch), rules),
                    rules);
  }
}

TEST(WorkList, OneLongRequestKeepsEveryThreadBusy) {
  const AttentionShape shape{.q_heads = 4, .kv_heads = 1, .head_dim_qk = 128, .head_dim_v = 128};
  const Step step({1}, {131072});
  for (const int threads : {2, 16}) {
    const WorkList list =
        make_work_list(shape, step.batch, requests_of(step.batch), {threads, 256});
    EXPECT_GE(static_cast<int>(list.items.size()), threads);
    EXPECT_EQ(list.splits.size(), 1U);
  }
}

TEST(WorkList, WindowsSkipWhatNobodySees) {
  AttentionShape shape{.q_heads = 1, .kv_heads = 1, .head_dim_qk = 64, .head_dim_v = 64};
  shape.window_left = 127;
  const Step step({1}, {100000});
  const WorkList list = make_work_list(shape, step.batch, requests_of(step.batch), {2, 256});
  ASSERT_EQ(list.items.size(), 1U);
  EXPECT_LE(list.items[0].slot_end - list.items[0].slot_begin, 128 + kTileKeys);
}

}  // namespace
}  // namespace headwise::tiled
