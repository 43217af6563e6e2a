// Offsets past 2^31 elements and 2^32 bytes, in memory that a GPU really has.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

/// A view's outermost indices moved to index * spread + first, `stride` elements apart.
struct Move {
  std::int64_t spread;
  std::int64_t first;
  std::int64_t stride;

  std::int64_t index(std::int64_t i) const { return i * spread + first; }
};

/// A view's rows in a buffer of the GPU, far apart; NaN all around them.
class FarRows {
 public:
  template <class View>
  FarRows(View& view, const Move& move) : move_(move), count_(view.sizes[0]) {
    const std::int64_t size = size_of(view.dtype);
    row_bytes_ = view.strides[0] * size;
    near_ = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(view.data)));
    stride_bytes_ = move.stride * size;
    const std::int64_t bytes = move.index(count_ - 1) * stride_bytes_ + row_bytes_;
    if (move.index(count_ - 1) * move.stride <= std::int64_t{1} << 31)
      throw std::logic_error("not far");
    buffer_ = cuda::DeviceBuffer(0, bytes);
    cuda::fill(buffer_.data(), std::byte{0xff}, bytes);
    for (std::int64_t i = 0; i < count_; ++i)
      cuda::copy_to_device(at(i), near_ + i * row_bytes_, row_bytes_);
    view.data = buffer_.data();
    view.device = {DeviceType::cuda, 0};
    view.sizes[0] = std::max(view.sizes[0], move.index(count_ - 1) + 1);
    view.strides[0] = move.stride;
  }

  void move_back() const {
    for (std::int64_t i = 0; i < count_; ++i)
      cuda::copy_to_host(near_ + i * row_bytes_, at(i), row_bytes_);
  }

 private:
  std::byte* at(std::int64_t i) const {
    return buffer_.as<std::byte>() + move_.index(i) * stride_bytes_;
  }

  Move move_;
  std::int64_t count_;
  std::int64_t row_bytes_ = 0;
  std::int64_t stride_bytes_ = 0;
  std::byte* near_ = nullptr;
  cuda::DeviceBuffer buffer_;
};

Recipe small_case(KvLayout layout) {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim_qk = 64, .head_dim_v = 64},
          .q_lens = {3, 1},
          .kv_lens = {50, 33},
          .layout = layout};
}

class FarMemoryOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    constexpr std::int64_t kNeeded = std::int64_t{48} << 30;
    if (this_machine().gpus.empty()) GTEST_SKIP() << this_machine().no_gpu;
    if (const std::int64_t free = cuda::free_bytes(0); free < kNeeded)
      GTEST_SKIP() << "cuda:0 has " << (free >> 30) << " GiB free; this needs 48";
  }
};

/// Calls `body(backend)` for the backends of GPUs.
template <class Body>
void for_each_able_gpu_backend(const Case& c, const Body& body) {
  for_each_able_backend(c, [&](const Backend& backend) {
    if (backend.device_type() == DeviceType::cuda) body(backend);
  });
}

/// Runs a case whose keys lie far out; `step` names them there.
void expect_exact(const Case& c, const StepBatch& step, const Move& move, Outputs& got) {
  const Outputs exact = reference_answer(c);
  for_each_able_gpu_backend(c, [&](const Backend& backend) {
    got.out.poison();
    PlacedStep placed(backend, c.shape(), step, c.kv(), c.args());
    KvView kv = c.kv();
    const FarRows k(kv.k, move);
    const FarRows v(kv.v, move);
    const auto plan = backend.plan(c.shape(), placed.step());
    const auto binding = backend.bind(c.shape(), kv, step.layout);
    Workspace workspace(backend, plan->workspace_bytes());
    placed.run(*plan, *binding, workspace);
    EXPECT_EQ(fault_in(c, exact, got), "");
  });
}

void expect_exact_pages(const Move& move) {
  const Case c(small_case(KvLayout::paged));
  Outputs got = own_outputs(c);
  StepBatch step = c.step(got.out, got.lse);
  std::vector<std::int32_t> table(step.tables.pages,
                                  step.tables.pages + step.tables.request_stride * 2);
  for (auto& page : table)
    if (page >= 0 && page < step.tables.pool_pages)
      page = static_cast<std::int32_t>(move.index(page));
  step.tables.pages = table.data();
  step.tables.pool_pages = move.index(step.tables.pool_pages - 1) + 1;
  expect_exact(c, step, move, got);
}

TEST_F(FarMemoryOnGpu, PageNumbersTimesAShortStride) {
  expect_exact_pages({.spread = 200'000, .first = 1'100'000, .stride = 2 * 16 * 64});
}

TEST_F(FarMemoryOnGpu, FewPagesFarApart) {
  expect_exact_pages({.spread = 3, .first = 1, .stride = (std::int64_t{1} << 28) + 64});
}

TEST_F(FarMemoryOnGpu, PackedKeysFarOut) {
  const Case c(small_case(KvLayout::packed));
  const Move move{.spread = 1, .first = 20'000'000, .stride = 2 * 64};
  Outputs got = own_outputs(c);
  StepBatch step = c.step(got.out, got.lse);
  std::vector<std::int64_t> starts(step.kv_start.begin(), step.kv_start.end());
  for (auto& start : starts) start = move.index(start);
  step.kv_start = starts;
  step.packed_tokens = move.index(step.packed_tokens - 1) + 1;
  expect_exact(c, step, move, got);
}

TEST_F(FarMemoryOnGpu, QueriesAndOutputsFarApart) {
  const Case c(small_case(KvLayout::paged));
  const Outputs exact = reference_answer(c);
  for_each_able_gpu_backend(c, [&](const Backend& backend) {
    Outputs got = own_outputs(c);
    PlacedStep placed(backend, c.shape(), c.step(got.out, got.lse), c.kv(), c.args());
    StepBatch step = c.step(got.out, got.lse);
    step.tables = placed.step().tables;
    const Move move{.spread = 1, .first = 0, .stride = (std::int64_t{1} << 30) + 32};
    const FarRows q(step.q, move);
    const FarRows out(step.out, move);
    const FarRows lse(step.lse, move);
    const auto plan = backend.plan(c.shape(), step);
    const auto binding = backend.bind(c.shape(), placed.kv(), step.layout);
    Workspace workspace(backend, plan->workspace_bytes());
    RunArgs args = placed.args();
    args.kv = binding.get();
    args.workspace = workspace.data();
    plan->run(args);
    finish_on_device();
    out.move_back();
    lse.move_back();
    EXPECT_EQ(fault_in(c, exact, got), "");
  });
}

}  // namespace
}  // namespace headwise::conformance
