// Which steps cuda-sm90 cuts into shares, which into items for a queue, and that either stays
// within what a plan has room for.

#include "cuda/sm90/step_cutting.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/cuda/schedule_step.h"

namespace headwise::cuda::sm90 {
namespace {

constexpr KernelRow kDecode{.name = "rows8",
                            .format = KvFormat::bf16,
                            .invariant = false,
                            .dim_qk = 128,
                            .dim_v = 128,
                            .rows = 8,
                            .keys = 64,
                            .shared_bytes = 0,
                            .functions = {}};

KernelRow row_of(int rows, int keys, bool invariant = false) {
  KernelRow row = kDecode;
  row.rows = rows;
  row.keys = keys;
  row.invariant = invariant;
  return row;
}

Problem problem_of(const AttentionShape& shape, const Step& step) {
  Problem problem{.shape = shape, .extent = extent_of(step.batch), .options = {}};
  return problem;
}

Schedule cut(const KernelRow& row, const AttentionShape& shape, const Step& step,
             const PrefixBundles& prefixes = {}, std::int64_t following_rows = 0) {
  const Problem problem = problem_of(shape, step);
  StepCutting cutting(row, problem, 132, following_rows);
  Schedule schedule;
  cutting.cut(shape, step.batch, prefixes, schedule);
  const ScheduleBounds bounds = cutting.bounds(problem);
  EXPECT_LE(std::ssize(schedule.items), bounds.items);
  EXPECT_LE(std::ssize(schedule.splits), bounds.splits);
  EXPECT_LE(schedule.part_rows, cutting.most_part_rows());
  EXPECT_LE(cutting.most_part_rows(), bounds.part_rows);
  return schedule;
}

bool has_shares(const Schedule& schedule) { return !schedule.block_begin.empty(); }

TEST(StepCutting, DecodesAndAppendsHaveSharesPromptsAQueue) {
  const AttentionShape shape = shape_of(32, 8);
  EXPECT_TRUE(has_shares(cut(kDecode, shape, Step({1, 1}, {5000, 70}))));
  EXPECT_TRUE(has_shares(cut(row_of(128, 128), shape, Step({64}, {32'832}))));
  EXPECT_FALSE(has_shares(cut(row_of(192, 64), shape, Step({2048, 300}, {2048, 300}))));
  EXPECT_FALSE(has_shares(cut(row_of(192, 64), shape, Step({2048, 1, 1}, {2048, 900, 5000}))));
}

TEST(StepCutting, BatchInvarianceCutsAtFixedPlaces) {
  const Schedule schedule =
      cut(row_of(128, 128, true), shape_of(32, 8), Step({1, 3}, {9000, 4000}));
  EXPECT_FALSE(has_shares(schedule));
  for (const WorkItem& item : schedule.items) EXPECT_EQ(item.slot_begin % kFixedSplit, 0);
}

TEST(StepCutting, StaysWithinItsBounds) {
  std::mt19937 random(3);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int shared = 0;
  for (int round = 0; round < 300; ++round) {
    const int kv_heads = 1 + below(8);
    const AttentionShape shape = shape_of(kv_heads * (1 + below(8)), kv_heads);
    std::vector<std::int32_t> q, kv, group, tokens;
    for (int r = below(50); r >= 0; --r) {
      q.push_back(below(5) == 0 ? below(400) : below(3));
      group.push_back(below(3) - 1);
      tokens.push_back(group.back() < 0 ? 0 : 512 + below(600));
      kv.push_back(tokens.back() + q.back() + below(9000));
    }
    Step step(q, kv);
    step.share(group, tokens);
    PrefixBundles bundles = bundle_prefixes(shape, step.batch, {.most_rows = 4000});
    bundles.parts.resize(bundles.bundles.size() * static_cast<std::size_t>(kv_heads));
    const int rows[] = {8, 32, 64, 128, 192};
    const int at = below(5);
    cut(row_of(rows[at], at == 3 ? 128 : 64), shape, step, bundles, 4000);
    shared += bundles.bundles.empty() ? 0 : 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(shared, 100);
}

}  // namespace
}  // namespace headwise::cuda::sm90
