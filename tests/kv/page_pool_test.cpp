#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "headwise/error.h"
#include "kv/kv_sequence.h"

namespace headwise {
namespace {

PoolShape small_shape() {
  return {
      .layers = 3, .kv_heads = 2, .head_dim_qk = 8, .head_dim_v = 4, .page_size = 16, .pages = 5};
}

TEST(PagePool, HoldsExactlyWhatItsShapeNeeds) {
  const PagePool pool(small_shape());
  EXPECT_EQ(pool.bytes(), 3 * 5 * 2 * 16 * (8 + 4) * 4);
  EXPECT_EQ(pool.free_pages(), 5);
}

TEST(PagePool, LayersLieApartAndAligned) {
  const PagePool pool(small_shape());
  std::set<const void*> starts;
  for (int layer = 0; layer < 3; ++layer) {
    const KvView view = pool.layer(layer);
    EXPECT_EQ(view.k.sizes, (std::array<std::int64_t, 4>{5, 2, 16, 8}));
    EXPECT_EQ(view.v.sizes, (std::array<std::int64_t, 4>{5, 2, 16, 4}));
    for (const void* start : {view.k.data, view.v.data}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 64, 0U);
      starts.insert(start);
    }
  }
  EXPECT_EQ(starts.size(), 6U);
  EXPECT_THROW(pool.layer(3), Error);
  EXPECT_THROW(pool.layer(-1), Error);
}

TEST(PagePool, TooFewPagesIsAnErrorThatChangesNothing) {
  PagePool pool(small_shape());
  std::vector<std::int32_t> pages;
  pool.take(3, pages);
  try {
    pool.take(4, pages);
    FAIL() << "took more than there are";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_STREQ(error.what(), "out of KV pages: 4 needed, 2 free of 5");
  }
  EXPECT_EQ(pages.size(), 3U);
  EXPECT_EQ(pool.free_pages(), 2);
}

TEST(PagePool, NoPageIsHeldTwice) {
  PagePool pool(small_shape());
  std::vector<std::int32_t> pages;
  pool.take(5, pages);
  EXPECT_EQ(std::set<std::int32_t>(pages.begin(), pages.end()).size(), 5U);
  pool.give_back({pages[2]});
  EXPECT_THROW(pool.give_back({pages[2]}), Error);
  EXPECT_THROW(pool.give_back({pages[0], 5}), Error);
  EXPECT_THROW(pool.give_back({pages[0], pages[0]}), Error);
  EXPECT_EQ(pool.free_pages(), 1);
}

TEST(PagePool, RefusesShapesOutOfRange) {
  const auto broken = [](auto change) {
    PoolShape shape = small_shape();
    change(shape);
    EXPECT_THROW(PagePool{shape}, Error);
  };
  broken([](PoolShape& s) { s.layers = 0; });
  broken([](PoolShape& s) { s.kv_heads = -1; });
  broken([](PoolShape& s) { s.page_size = 0; });
  broken([](PoolShape& s) { s.pages = 0; });
  broken([](PoolShape& s) { s.pages = std::int64_t{1} << 31; });
  broken([](PoolShape& s) { s.type = DType::i8; });
  broken([](PoolShape& s) {  // the product wraps around
    s.pages = (std::int64_t{1} << 31) - 1;
    s.page_size = 1 << 30;
    s.head_dim_qk = 1 << 20;
  });
}

TEST(KvSequence, TakesPagesAsItGrowsAndGivesThemBack) {
  PagePool pool(small_shape());
  {
    KvSequence sequence(pool);
    sequence.reserve(16);
    EXPECT_EQ(sequence.pages().size(), 1U);  // a full page needs no second
    sequence.advance(16);
    sequence.reserve(1);
    EXPECT_EQ(sequence.pages().size(), 2U);
    sequence.reserve(16);  // room is counted from the length, not added up
    EXPECT_EQ(sequence.pages().size(), 2U);
    EXPECT_EQ(sequence.length(), 16);
    EXPECT_EQ(sequence.tables().columns, 2);
  }
  EXPECT_EQ(pool.free_pages(), 5);
}

TEST(KvSequence, RefusesWhatItHasNoRoomFor) {
  PagePool pool(small_shape());
  KvSequence sequence(pool);
  EXPECT_THROW(sequence.advance(1), Error);
  EXPECT_THROW(sequence.reserve(5 * 16 + 1), Error);
  EXPECT_THROW(sequence.reserve(-1), Error);
  EXPECT_THROW(sequence.reserve(std::int64_t{1} << 31), Error);
  EXPECT_EQ(pool.free_pages(), 5);
}

}  // namespace
}  // namespace headwise
