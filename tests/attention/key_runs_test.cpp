#include "attention/key_runs.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <vector>

namespace headwise {
namespace {

constexpr std::int32_t kPoison = std::numeric_limits<std::int32_t>::min();

struct Place {
  std::int64_t position, page, token;
  bool operator==(const Place&) const = default;
};
using Places = std::map<std::int64_t, Place>;  // by slot

Places visited(const StepBatch& step, const Request& request, const PositionRange& seen) {
  Places places;
  std::int64_t last = -1;
  for_each_key_run(step, request, 0, seen, [&](const KeyRun& run) {
    EXPECT_GT(run.count, 0);
    EXPECT_GT(run.slot, last) << "slot order";
    for (std::int64_t i = 0; i < run.count; ++i)
      places[run.slot + i] = {run.position + i, run.page, run.token + i};
    last = run.slot + run.count - 1;
  });
  return places;
}

/// Slot by slot, from the definition.
TEST(KeyRuns, AreTheSlotsThatAreSeenAndNoOthers) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) {
    return static_cast<int>(random() % (high - low + 1)) + low;
  };
  for (int round = 0; round < 5000; ++round) {
    const int page_size = pick(1, 20);
    const int kv_len = pick(0, 70);
    const int pages = (kv_len + page_size - 1) / page_size;
    const bool picked = pick(0, 1) == 1;
    const PositionRange seen{pick(-10, 80), pick(-10, 80)};
    std::vector<std::int32_t> table(pages + 3, kPoison);
    std::vector<std::int32_t> positions(pages + 3, kPoison);
    Places expected;
    for (int k = 0; k < pages; ++k) {
      positions[k] = picked ? pick(0, 60) : k * page_size;
      const int page = pick(0, 1000);
      for (int i = 0; i < page_size && k * page_size + i < kv_len; ++i) {
        if (!seen.contains(positions[k] + i)) continue;
        table[k] = page;  // pages that nobody sees keep the poison
        expected[k * page_size + i] = {positions[k] + i, page, i};
      }
    }
    StepBatch step;
    step.tables = {.page_size = page_size,
                   .pool_pages = 1001,
                   .columns = static_cast<std::int32_t>(table.size()),
                   .pages = table.data(),
                   .positions = picked ? positions.data() : nullptr};
    const Request request{.q_len = 1, .kv_len = kv_len};
    ASSERT_EQ(visited(step, request, seen), expected) << "round " << round;
  }
}

TEST(KeyRuns, PackedKeysAreOneRun) {
  const std::vector<std::int64_t> starts = {std::int64_t{1} << 40};
  StepBatch step;
  step.layout = KvLayout::packed;
  step.kv_start = starts;
  const Request request{.q_len = 1, .kv_len = 9};
  const Places places = visited(step, request, {2, 4});
  EXPECT_EQ(
      places,
      (Places{{2, {2, 0, starts[0] + 2}}, {3, {3, 0, starts[0] + 3}}, {4, {4, 0, starts[0] + 4}}}));
}

TEST(Mask, RangesFollowTheWindow) {
  AttentionShape shape;
  EXPECT_TRUE(Mask(shape).seen_from(5).contains(0));
  EXPECT_TRUE(Mask(shape).seen_from(5).contains(5));
  EXPECT_FALSE(Mask(shape).seen_from(5).contains(6));
  shape.window_left = 2;
  EXPECT_FALSE(Mask(shape).seen_from(5).contains(2));
  EXPECT_TRUE(Mask(shape).seen_from(5).contains(3));
  shape.window_right = -1;
  EXPECT_TRUE(Mask(shape).seen_from(-3).contains(1 << 30));
  EXPECT_FALSE(Mask(shape).seen_from(-3).contains(-6));
  EXPECT_TRUE(Mask(shape).seen_from(PositionRange{4, 3}).empty());
}

}  // namespace
}  // namespace headwise
