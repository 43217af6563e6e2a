// The README's C++ as it stands there, among the buffers that its text names.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "headwise/registry.h"

namespace {

TEST(Readme, ExampleCompilesAndRuns) {
  constexpr std::uint16_t kOne = 0x3f80;  // 1 as bf16
  constexpr int tokens = 3, pages = 4, columns = 2;
  const std::vector<std::int32_t> q_lens{1, 2}, kv_lens{20, 2};
  const std::vector<std::int32_t> table_entries{3, 1, 0, -1};
  const std::vector<std::uint16_t> q_elements(tokens * 32 * 128, kOne);
  const std::vector<std::uint16_t> kv_elements(pages * 8 * 16 * 128, kOne);
  std::vector<std::uint16_t> out_elements(tokens * 32 * 128);
  const void* q = q_elements.data();
  const void* k = kv_elements.data();
  const void* v = kv_elements.data();
  void* out = out_elements.data();
  const std::int32_t* table = table_entries.data();

#include "readme_example.inc"

  const std::unique_ptr<void, decltype(&std::free)> owner(workspace, &std::free);
  EXPECT_TRUE(std::ranges::all_of(out_elements, [](std::uint16_t x) { return x == kOne; }));
}

}  // namespace
