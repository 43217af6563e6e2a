// Offsets past 2^31 elements and 2^32 bytes, in memory that is reserved and hardly touched.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "tests/conformance/every_backend.h"
#include "tests/conformance/sparse_memory.h"

namespace headwise::conformance {
namespace {

constexpr std::int64_t kFarElements = std::int64_t{1} << 31;

/// A view's outermost indices moved to index * spread + first, `stride` elements apart.
struct Move {
  std::int64_t spread;
  std::int64_t first;
  std::int64_t stride;

  std::int64_t index(std::int64_t i) const { return i * spread + first; }
  std::int64_t offset(std::int64_t i) const { return index(i) * stride; }
};

/// A case whose tensors move to far places and back.
class FarMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers shadow all reserved memory";
#endif
  }

  template <class View>
  void move_out(View& view, const Move& move) {
    const std::int64_t size = size_of(view.dtype);
    const std::int64_t count = view.sizes[0];
    const std::int64_t end = move.offset(count) + view.strides[0];
    ASSERT_GT(move.offset(count - 1), kFarElements);
    memory_.push_back(std::make_unique<SparseMemory>(end * size));
    std::byte* to = memory_.back()->data();
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(to + move.offset(i) * size,
                  static_cast<const std::byte*>(view.data) + i * view.strides[0] * size,
                  static_cast<std::size_t>(view.strides[0] * size));
    view.data = to;
    view.sizes[0] = move.index(count);
    view.strides[0] = move.stride;
  }

  static void move_back(const MutableTensorView& far, const MutableTensorView& near) {
    const auto row = static_cast<std::size_t>(near.strides[0] * size_of(near.dtype));
    for (std::int64_t i = 0; i < near.sizes[0]; ++i)
      std::memcpy(static_cast<std::byte*>(near.data) + i * near.strides[0] * size_of(near.dtype),
                  static_cast<const std::byte*>(far.data) + i * far.strides[0] * size_of(far.dtype),
                  row);
  }

  void expect_exact_pages(const Move& move);

 private:
  std::vector<std::unique_ptr<SparseMemory>> memory_;
};

Recipe small_case(KvLayout layout) {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim_qk = 64, .head_dim_v = 64},
          .q_lens = {3, 1},
          .kv_lens = {50, 33},
          .layout = layout};
}

void FarMemory::expect_exact_pages(const Move& move) {
  const Case c(small_case(KvLayout::paged));
  Outputs got = own_outputs(c);
  StepBatch step = c.step(got.out, got.lse);
  KvView kv = c.kv();
  move_out(kv.k, move);
  move_out(kv.v, move);
  std::vector<std::int32_t> table(step.tables.pages,
                                  step.tables.pages + step.tables.request_stride * 2);
  for (auto& page : table)
    if (page >= 0 && page < step.tables.pool_pages)
      page = static_cast<std::int32_t>(move.index(page));
  step.tables.pages = table.data();
  step.tables.pool_pages = kv.k.sizes[0];
  for_each_able_cpu_backend(c, [&](const Backend& backend) {
    got.out.poison();
    run_step(backend, c.shape(), step, kv, c.args());
    EXPECT_EQ(fault_in(c, reference_answer(c), got), "");
  });
}

TEST_F(FarMemory, PageNumbersTimesAShortStride) {
  expect_exact_pages({.spread = 200'000, .first = 1'100'000, .stride = 2 * 16 * 64});
}

TEST_F(FarMemory, FewPagesFarApart) {
  expect_exact_pages({.spread = 3, .first = 1, .stride = (std::int64_t{1} << 28) + 64});
}

TEST_F(FarMemory, PackedKeysFarOut) {
  const Case c(small_case(KvLayout::packed));
  Outputs got = own_outputs(c);
  StepBatch step = c.step(got.out, got.lse);
  const Move move{.spread = 1, .first = 20'000'000, .stride = 2 * 64};
  KvView kv = c.kv();
  move_out(kv.k, move);
  move_out(kv.v, move);
  std::vector<std::int64_t> starts(step.kv_start.begin(), step.kv_start.end());
  for (auto& start : starts) start = move.index(start);
  step.kv_start = starts;
  step.packed_tokens = kv.k.sizes[0];
  for_each_able_cpu_backend(c, [&](const Backend& backend) {
    got.out.poison();
    run_step(backend, c.shape(), step, kv, c.args());
    EXPECT_EQ(fault_in(c, reference_answer(c), got), "");
  });
}

TEST_F(FarMemory, QueriesAndOutputsFarApart) {
  const Case c(small_case(KvLayout::paged));
  Outputs got = own_outputs(c);
  const StepBatch near = c.step(got.out, got.lse);
  StepBatch step = near;
  const Move move{.spread = 1, .first = 0, .stride = (std::int64_t{1} << 30) + 32};
  move_out(step.q, move);
  move_out(step.out, move);
  move_out(step.lse, move);
  for_each_able_cpu_backend(c, [&](const Backend& backend) {
    run_step(backend, c.shape(), step, c.kv(), c.args());
    move_back(step.out, near.out);
    move_back(step.lse, near.lse);
    EXPECT_EQ(fault_in(c, reference_answer(c), got), "");
  });
}

}  // namespace
}  // namespace headwise::conformance
