#include "headwise/tensor_view.h"

#include <gtest/gtest.h>

#include "headwise/error.h"
#include "headwise/machine.h"

namespace headwise {
namespace {

TEST(TensorView, DenseStridesCountFromTheLastDimension) {
  float data = 0.0F;
  const TensorView view = dense(&data, DType::f32, {2, 3, 5});
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.strides[0], 15);
  EXPECT_EQ(view.strides[1], 5);
  EXPECT_EQ(view.strides[2], 1);
  EXPECT_EQ(to_string(view), "f32[2, 3, 5] strides [15, 5, 1] on cpu");
}

TEST(TensorView, StridesPass32Bits) {
  const TensorView view =
      dense(static_cast<const void*>(nullptr), DType::bf16, {1 << 20, 8, 1 << 16, 128});
  EXPECT_EQ(view.strides[0], std::int64_t{8} << 23);
}

TEST(TensorView, TheDefaultOneIsAbsent) {
  EXPECT_FALSE(TensorView{});
  EXPECT_EQ(to_string(TensorView{}), "absent");
}

TEST(DType, NamesAreReadBack) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::i8})
    EXPECT_EQ(parse_dtype(name_of(type)), type);
  try {
    parse_dtype("fp4");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unknown_name);
    EXPECT_NE(std::string(error.what()).find("fp4"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("f8e4m3"), std::string::npos);
  }
}

TEST(Machine, EachInstructionSetNeedsTheOnesBelow) {
  const CpuInfo& cpu = this_machine().cpu;
  EXPECT_GE(cpu.threads, 1);
  EXPECT_GT(cpu.memory_bytes, 0);
  EXPECT_TRUE(cpu.avx2 || !cpu.avx512);
  EXPECT_TRUE(cpu.avx512 || !cpu.avx512_bf16);
  EXPECT_TRUE(cpu.avx512 || !cpu.amx_bf16);
}

}  // namespace
}  // namespace headwise
