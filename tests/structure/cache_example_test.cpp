// The C++ of docs/kv-cache.md as it stands there, among what its text names.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "headwise/kv_cache.h"
#include "headwise/registry.h"

namespace headwise {
namespace {

std::unique_ptr<void, decltype(&std::free)> allocate(std::int64_t bytes) {
  return {std::aligned_alloc(64, static_cast<std::size_t>((bytes + 63) / 64 * 64)), &std::free};
}

TEST(CacheDocs, ExampleCompilesAndRuns) {
  const AttentionShape shape{.q_heads = 2, .kv_heads = 1, .head_dim_qk = 8, .head_dim_v = 8};
  const Backend& backend = Registry::builtin().find("cpu-portable");
  std::vector<std::int32_t> prompt(100);
  std::iota(prompt.begin(), prompt.end(), 7);
  constexpr std::uint16_t kOne = 0x3f80;  // 1 as bf16
  const std::vector<std::uint16_t> ones(101 * 2 * 8, kOne);
  std::vector<std::uint16_t> results(ones.size());
  const TensorView q = dense(ones.data(), DType::bf16, {101, 2, 8});
  const TensorView k = dense(ones.data(), DType::bf16, {101, 1, 8});
  const TensorView v = k;
  const MutableTensorView out = dense(results.data(), DType::bf16, {101, 2, 8});

#include "cache_example.inc"

  EXPECT_TRUE(std::ranges::all_of(results, [](std::uint16_t x) { return x == kOne; }));
  EXPECT_EQ(cache.length(hit.sequence), 100);
  EXPECT_EQ(cache.create(prompt).reused_tokens, 96);  // full pages
}

}  // namespace
}  // namespace headwise
