// What cuda-standard's kernels compute of positions and pages, on the CPU, against the walk over
// the keys that all backends share.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "attention/key_runs.h"
#include "attention/mask.h"
#include "cuda/standard/kernels.h"

namespace headwise::cuda::standard {
namespace {

constexpr int kHeads = 3;

/// One request, paged or packed, at random.
struct World {
  std::mt19937 random;
  AttentionShape shape{.q_heads = 6, .kv_heads = kHeads, .head_dim_qk = 8, .head_dim_v = 8};
  StepBatch step;
  headwise::Request request;
  std::vector<std::int32_t> pages, positions;
  std::vector<std::int64_t> kv_start;

  explicit World(unsigned seed) : random(seed) {
    const std::int64_t windows[][2] = {{-1, 0}, {-1, -1}, {0, 0}, {7, 0}, {5, 5}, {4, -1}, {-1, 3}};
    const auto& window = windows[below(7)];
    shape.window_left = window[0];
    shape.window_right = window[1];
    request.index = below(2);
    request.first_row = 11;
    request.q_len = static_cast<std::int32_t>(below(20));
    request.kv_len = static_cast<std::int32_t>(below(150));
    request.q_start = below(3) == 0 ? below(200) - 30 : request.kv_len - request.q_len;
    if (below(3) == 0)
      make_packed();
    else
      make_tables();
  }

  std::int64_t below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
  }

  void make_packed() {
    step.layout = KvLayout::packed;
    kv_start = {below(1000), below(1000)};
    step.kv_start = kv_start;
  }

  void make_tables() {
    const int sizes[] = {1, 3, 16, 64};
    BlockTables& tables = step.tables;
    tables.page_size = sizes[below(4)];
    tables.heads = below(2) == 0 ? 1 : kHeads;
    tables.columns = 160;
    tables.head_stride = tables.columns + below(3);
    tables.request_stride = tables.heads * tables.head_stride + below(3);
    const auto size = static_cast<std::size_t>(2 * tables.request_stride);
    const bool picked = below(2) == 0;
    for (std::size_t i = 0; i < size; ++i) {
      pages.push_back(static_cast<std::int32_t>(below(1 << 20)));
      positions.push_back(static_cast<std::int32_t>(below(12) * tables.page_size));
    }
    tables.pages = pages.data();
    tables.positions = picked ? positions.data() : nullptr;
  }

  KeyColumns columns(std::int64_t first_slot) const {
    const Mask mask(shape);
    KeyColumns result{.lengths = {request.q_len, request.kv_len, request.q_start},
                      .window = {mask.left, mask.right},
                      .first_slot = first_slot};
    if (step.layout == KvLayout::packed) {
      result.kv_start = step.kv_start[static_cast<std::size_t>(request.index)];
      return result;
    }
    const std::int64_t first = request.index * step.tables.request_stride;
    result.pages = step.tables.pages + first;
    if (step.tables.positions != nullptr) result.positions = step.tables.positions + first;
    result.head_stride = step.tables.heads > 1 ? step.tables.head_stride : 0;
    result.page_size = static_cast<std::uint32_t>(step.tables.page_size);
    return result;
  }

  bool by_slot() const { return step.layout == KvLayout::packed || !step.tables.positions; }
};

TEST(StandardColumns, PlacesAreThoseOfTheSharedWalk) {
  int seen = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    World world(seed);
    const std::int64_t first_slot = world.below(2) * world.below(10);
    for (int head = 0; head < kHeads; ++head) {
      std::map<std::int64_t, KeyPlace> expected;
      headwise::PositionRange rows;
      if (world.request.q_len > 0) rows = Mask(world.shape).seen_from(world.request.rows());
      for_each_key_run(world.step, world.request, head, rows, [&](const KeyRun& run) {
        for (std::int64_t i = 0; i < run.count; ++i)
          expected[run.slot + i] = {true, run.page, run.token + i,
                                    static_cast<std::int32_t>(run.position + i)};
      });
      for (std::int64_t column = 0; column < 256; ++column) {
        const KeyPlace place = world.columns(first_slot).place_of(head, column);
        const auto found = expected.find(first_slot + column);
        const KeyPlace wanted = found != expected.end() ? found->second : KeyPlace{};
        ASSERT_EQ(place.seen, wanted.seen) << "seed " << seed << " column " << column;
        ASSERT_EQ(place.page, wanted.page) << "seed " << seed << " column " << column;
        ASSERT_EQ(place.token, wanted.token) << "seed " << seed << " column " << column;
        ASSERT_EQ(place.position, wanted.position) << "seed " << seed << " column " << column;
        seen += place.seen ? 1 : 0;
      }
    }
  }
  EXPECT_GT(seen, 100'000);
}

TEST(StandardColumns, PagesThatNoRowSeesAreNotRead) {
  const auto* nowhere = reinterpret_cast<const std::int32_t*>(alignof(std::int32_t));
  const KeyColumns columns{.lengths = {4, 100, 96}, .window = {8, 0}, .pages = nowhere};
  for (std::int64_t column = 0; column < 88; ++column)
    EXPECT_FALSE(columns.place_of(0, column).seen) << column;
  for (std::int64_t column = 100; column < 128; ++column)
    EXPECT_FALSE(columns.place_of(0, column).seen) << column;
}

TEST(StandardColumns, ARowsColumnsAreThoseThatItSees) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    World world(seed);
    const KeyColumns all = world.columns(world.below(2) * world.below(10));
    const std::int64_t count = world.below(200);
    for (std::int64_t row = 0; row < world.request.q_len; ++row) {
      const std::int64_t at = world.request.q_start + row;
      const PositionRange seen = all.window.seen_from(at, at);
      const ColumnRange range =
          columns_seen(seen, world.by_slot(), all.first_slot, count, world.request.kv_len);
      for (std::int64_t column = 0; column < count; ++column) {
        const KeyPlace place = all.place_of(1, column);
        const bool wanted = place.seen && Mask(world.shape).seen_from(at).contains(place.position);
        const bool in_range = column >= range.begin && column < range.end;
        const std::int64_t position = world.by_slot() ? all.first_slot + column : place.position;
        ASSERT_EQ(in_range && (world.by_slot() || seen.contains(position)), wanted)
            << "seed " << seed << " row " << row << " column " << column;
      }
    }
  }
}

TEST(StandardColumns, PositionsMayLieAtBothEnds) {
  const Window unlimited{-1, -1};
  EXPECT_TRUE(unlimited.seen_from(-50, -40).contains(2'147'483'647));
  EXPECT_FALSE(unlimited.seen_from(5, 5).contains(-1)) << "-1 stands for keys that no row sees";
  const Window longest{Mask::kFar, Mask::kFar};
  EXPECT_TRUE(longest.seen_from(2'147'483'647, 2'147'483'647).contains(0));
  EXPECT_TRUE(longest.seen_from(-2'147'483'647, 0).contains(2'147'483'647));
  EXPECT_FALSE((Window{-1, 0}).seen_from(-3, -1).contains(0));
}

TEST(StandardColumns, LengthsOfTheDeviceCountWhereThereAreAny) {
  const std::int32_t q_len = 3;
  const std::int32_t kv_len = 40;
  const std::int32_t q_start = 9;
  Lengths lengths{.q_len = 8, .kv_len = 64, .q_start = 1};
  EXPECT_EQ(lengths.start(), 1);
  lengths.device_q_len = &q_len;
  EXPECT_EQ(lengths.rows(), 3);
  EXPECT_EQ(lengths.keys(), 64);
  EXPECT_EQ(lengths.start(), 61);
  lengths.device_kv_len = &kv_len;
  EXPECT_EQ(lengths.start(), 37);
  lengths.device_q_start = &q_start;
  EXPECT_EQ(lengths.start(), 9);

  const std::int32_t none = 0;
  lengths.device_q_len = &none;  // an idle slot
  const KeyColumns columns{.lengths = lengths, .window = {-1, -1}};
  EXPECT_FALSE(columns.place_of(0, 0).seen);
}

TEST(StandardColumns, RowsAreTokensTimesTheHeadsOfAGroup) {
  const RowBlock block{
      .lengths = {9, 9, 0}, .first_row = 100, .token = 4, .tokens = 3, .group = 2, .kv_heads = 3};
  const TokenHeads strides{.token = std::int64_t{1} << 40, .head = 7};
  EXPECT_EQ(block.rows(), 6);
  EXPECT_EQ(strides.offset(block, 2, 0), (std::int64_t{104} << 40) + 4 * 7);
  EXPECT_EQ(strides.offset(block, 2, 5), (std::int64_t{106} << 40) + 5 * 7);
  const std::int32_t five = 5;
  QueryRows rows{.block = block, .q = strides};
  rows.block.lengths.device_q_len = &five;
  EXPECT_EQ(rows.locate(0, 1), (std::int64_t{104} << 40) + 7);
  EXPECT_EQ(rows.locate(0, 2), -1) << "token 5 is not there on the device";
}

}  // namespace
}  // namespace headwise::cuda::standard
