// New rows and pages past 2^31 elements and 2^32 bytes.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/number_formats.h"
#include "tests/conformance/append_case.h"
#include "tests/conformance/backend_choice.h"
#include "tests/conformance/placed_step.h"
#include "tests/conformance/sparse_memory.h"

namespace headwise::conformance {
namespace {

constexpr int kDim = 64;
constexpr int kPageSize = 2;
constexpr std::int64_t kPageStride = (std::int64_t{1} << 31) + 64;  // of bf16
constexpr std::int64_t kRowStride = (std::int64_t{1} << 30) + 16;   // of f32
constexpr std::int64_t kPoolBytes = (2 * kPageStride + kPageSize * kDim) * 2;
constexpr std::int64_t kRowsBytes = (2 * kRowStride + kDim) * 4;

/// Memory where a backend runs, hardly touched.
class FarBuffer {
 public:
  FarBuffer(const Backend& backend, std::int64_t bytes) {
    if (backend.device_type() == DeviceType::cuda)
      device_ = std::make_unique<cuda::DeviceBuffer>(0, bytes);
    else
      host_ = std::make_unique<SparseMemory>(bytes);
  }
  void* data() const { return device_ ? device_->data() : host_->data(); }

  void write(std::int64_t at, const void* from, std::int64_t bytes) const {
    std::byte* to = static_cast<std::byte*>(data()) + at;
    if (device_) return cuda::copy_to_device(to, from, bytes);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void read(std::int64_t at, void* to, std::int64_t bytes) const {
    const std::byte* from = static_cast<const std::byte*>(data()) + at;
    if (device_) return cuda::copy_to_host(to, from, bytes);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

 private:
  std::unique_ptr<cuda::DeviceBuffer> device_;
  std::unique_ptr<SparseMemory> host_;
};

/// Three tokens, the last of them on another page, K alone.
void expect_far_append(const Backend& backend) {
  const Device device = device_for(backend);
  const FarBuffer pool(backend, kPoolBytes);
  const FarBuffer rows(backend, kRowsBytes);
  const FarBuffer table(backend, 8);
  const std::int32_t pages[] = {2, 0};
  table.write(0, pages, sizeof(pages));
  for (int token = 0; token < 3; ++token) {
    const std::vector<float> row(kDim, static_cast<float>(token + 1));
    rows.write(token * kRowStride * 4, row.data(), kDim * 4);
  }
  const std::vector<std::int32_t> lengths = {3};
  StepBatch step;
  step.q_lens = step.kv_lens = lengths;
  step.tables = {.page_size = kPageSize,
                 .pool_pages = 3,
                 .columns = 2,
                 .pages = static_cast<const std::int32_t*>(table.data()),
                 .request_stride = 2,
                 .device = device};
  AppendArgs args;
  args.k = dense(static_cast<const void*>(rows.data()), DType::f32, {3, 1, kDim}, device);
  args.k.strides[0] = kRowStride;
  args.cache.k = dense(pool.data(), DType::bf16, {3, 1, kPageSize, kDim}, device);
  args.cache.k.strides[0] = kPageStride;
  const AttentionShape shape{
      .q_heads = 1, .kv_heads = 1, .head_dim_qk = kDim, .head_dim_v = kDim, .v_is_k_prefix = true};
  backend.append_kv(shape, step, args);
  if (device.type == DeviceType::cuda) finish_on_device();
  for (int token = 0; token < 3; ++token) {
    std::vector<std::uint16_t> got(kDim);
    pool.read((pages[token / 2] * kPageStride + token % 2 * kDim) * 2, got.data(), kDim * 2);
    EXPECT_EQ(got, std::vector<std::uint16_t>(kDim, float_to_bf16(static_cast<float>(token + 1))))
        << "token " << token;
  }
}

TEST(AppendFarMemory, PagesAndRowsPast32Bits) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers shadow all reserved memory";
#endif
  for (const Backend* backend : appending_backends()) {
    SCOPED_TRACE(std::string(backend->name()));
    expect_far_append(*backend);
  }
}

}  // namespace
}  // namespace headwise::conformance
