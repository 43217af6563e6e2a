#include "core/aligned_memory.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "headwise/error.h"

namespace headwise {
namespace {

TEST(AlignedMemory, StartsAtALineAndHoldsWhatWasAskedFor) {
  for (const std::int64_t bytes : {1, 63, 64, 65, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 5 << 20}) {
    const AlignedBytes memory = allocate_aligned(bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0U) << bytes;
    memory[0] = memory[static_cast<std::size_t>(bytes) - 1] = std::byte{7};
  }
  EXPECT_EQ(allocate_aligned(0), nullptr);
}

TEST(AlignedMemory, SaysHowMuchThereIsNot) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a program that asks for too much";
#endif
  try {
    allocate_aligned(std::int64_t{1} << 60);
    FAIL() << "an exbibyte was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
    EXPECT_STREQ(error.what(), "no memory for 1152921504606846976 bytes");
  }
}

}  // namespace
}  // namespace headwise
