#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "headwise/error.h"

namespace headwise {
namespace {

PoolShape shape_of(DType type, bool mla = false) {
  PoolShape shape;
  shape.group.shape = {.q_heads = 2,
                       .kv_heads = mla ? 1 : 2,
                       .head_dim_qk = 8,
                       .head_dim_v = 4,
                       .kv_type = type,
                       .v_is_k_prefix = mla};
  shape.group.layers = 3;
  shape.page_size = 16;
  shape.pages = 5;
  return shape;
}

TEST(PageRefs, CountWhoHoldsAPage) {
  PageRefs refs(3);
  const std::int32_t page = refs.take();
  EXPECT_TRUE(refs.is_private(page));
  refs.retain(page);
  EXPECT_FALSE(refs.is_private(page));
  EXPECT_EQ(refs.shared(), 1);
  refs.release(page);
  refs.cache(page);
  EXPECT_FALSE(refs.is_private(page));  // though one sequence alone has it
  EXPECT_EQ(refs.shared(), 0);
  refs.release(page);
  EXPECT_EQ(refs.used(), 0);
  EXPECT_EQ(refs.cached(), 1);
  EXPECT_EQ(refs.free(), 2);
  refs.retain(page);  // found again
  EXPECT_EQ(refs.cached(), 0);
  EXPECT_EQ(refs.used(), 1);
  refs.uncache(page);
  EXPECT_TRUE(refs.is_private(page));
  refs.release(page);
  EXPECT_EQ(refs.free(), 3);
}

TEST(PageRefs, HandOutEveryPageOnce) {
  PageRefs refs(100);
  std::set<std::int32_t> pages;
  for (int i = 0; i < 100; ++i) pages.insert(refs.take());
  EXPECT_EQ(pages.size(), 100U);
  EXPECT_EQ(*pages.begin(), 0);
  EXPECT_EQ(*pages.rbegin(), 99);
  try {
    refs.take();
    FAIL() << "took more than there are";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_STREQ(error.what(), "out of KV pages: none free of 100");
  }
}

TEST(PageRefs, RefuseWhatIsNotHeldAndChangeNothing) {
  PageRefs refs(2);
  const std::int32_t page = refs.take();
  const std::int32_t other = 1 - page;
  for (const std::int32_t foreign : {-1, 2, 1 << 30}) {
    EXPECT_THROW(refs.retain(foreign), Error);
    EXPECT_THROW(refs.release(foreign), Error);
    EXPECT_THROW(refs.cache(foreign), Error);
    EXPECT_THROW(refs.uncache(foreign), Error);
  }
  EXPECT_THROW(refs.retain(other), Error);  // free
  EXPECT_THROW(refs.release(other), Error);
  EXPECT_THROW(refs.cache(other), Error);
  EXPECT_THROW(refs.uncache(page), Error);
  refs.cache(page);
  EXPECT_THROW(refs.cache(page), Error);
  refs.release(page);
  EXPECT_THROW(refs.release(page), Error);  // the cache's alone
  EXPECT_EQ(refs.free(), 1);
  EXPECT_EQ(refs.cached(), 1);
  EXPECT_THROW(PageRefs(0), Error);
  EXPECT_THROW(PageRefs(std::int64_t{1} << 31), Error);
}

TEST(PagePool, HoldsWhatTheFormulaSays) {
  EXPECT_EQ(PagePool(shape_of(DType::f32), cpu_memory()).bytes(), 5 * 16 * 3 * 2 * (8 + 4) * 4);
  EXPECT_EQ(PagePool(shape_of(DType::f8e4m3), cpu_memory()).bytes(), 5 * 16 * 3 * 2 * (8 + 4));
  EXPECT_EQ(PagePool(shape_of(DType::i8), cpu_memory()).bytes(), 5 * 16 * 3 * 2 * (8 + 4 + 2 * 4));
  EXPECT_EQ(PagePool(shape_of(DType::bf16, true), cpu_memory()).bytes(), 5 * 16 * 3 * 8 * 2);
}

TEST(PagePool, LayersLieApartAndAligned) {
  for (const DType type : {DType::f32, DType::bf16, DType::f8e4m3, DType::i8}) {
    const PagePool pool(shape_of(type), cpu_memory());
    std::set<const void*> starts;
    for (int layer = 0; layer < 3; ++layer) {
      const KvView view = pool.layer(layer);
      validate(pool.shape().group.shape, view, KvLayout::paged);
      EXPECT_EQ(view.k.sizes, (std::array<std::int64_t, 4>{5, 2, 16, 8}));
      EXPECT_EQ(view.v.sizes, (std::array<std::int64_t, 4>{5, 2, 16, 4}));
      for (const TensorView& part : {view.k, view.v, view.k_scale, view.v_scale}) {
        if (!part) continue;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data) % 64, 0U);
        starts.insert(part.data);
      }
    }
    EXPECT_EQ(starts.size(), type == DType::i8 ? 12U : 6U);
    EXPECT_THROW(pool.layer(3), Error);
    EXPECT_THROW(pool.layer(-1), Error);
  }
}

/// Calls visit(first byte, bytes) of what a page has in each part of each layer.
template <class Visit>
void for_each_part(const PagePool& pool, std::int32_t page, const Visit& visit) {
  for (int layer = 0; layer < pool.shape().group.layers; ++layer) {
    const MutableKvView view = pool.layer(layer);
    for (const MutableTensorView& part : {view.k, view.v, view.k_scale, view.v_scale}) {
      if (!part) continue;
      const std::int64_t bytes = part.strides[0] * size_of(part.dtype);
      visit(static_cast<std::byte*>(part.data) + page * bytes, static_cast<std::size_t>(bytes));
    }
  }
}

TEST(PagePool, CopiesAPageInEveryLayerAndNothingElse) {
  for (const bool mla : {false, true}) {
    const PagePool pool(shape_of(DType::i8, mla), cpu_memory());
    for (std::int32_t page = 0; page < 5; ++page) {
      int part = 0;
      for_each_part(pool, page, [&](std::byte* first, std::size_t bytes) {
        std::memset(first, page * 16 + part++, bytes);
      });
    }
    pool.copy_page(3, 1, nullptr);
    for (std::int32_t page = 0; page < 5; ++page) {
      int part = 0;
      for_each_part(pool, page, [&](const std::byte* first, std::size_t bytes) {
        const auto wanted = static_cast<std::byte>((page == 3 ? 1 : page) * 16 + part++);
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(first[i], wanted) << page << " " << part;
      });
    }
  }
}

TEST(PagePool, RefusesShapesOutOfRange) {
  const auto broken = [](auto change) {
    PoolShape shape = shape_of(DType::f32);
    change(shape);
    EXPECT_THROW(PagePool(shape, cpu_memory()), Error);
  };
  broken([](PoolShape& s) { s.group.layers = 0; });
  broken([](PoolShape& s) { s.group.shape.kv_heads = -1; });
  broken([](PoolShape& s) { s.page_size = 0; });
  broken([](PoolShape& s) { s.pages = 0; });
  broken([](PoolShape& s) { s.pages = -1; });
  broken([](PoolShape& s) { s.pages = std::int64_t{1} << 31; });
  broken([](PoolShape& s) {  // the product wraps around
    s.pages = (std::int64_t{1} << 31) - 1;
    s.page_size = 1 << 30;
    s.group.shape.head_dim_qk = 1 << 20;
  });
}

}  // namespace
}  // namespace headwise
