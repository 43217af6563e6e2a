#include "headwise/merge.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/number_formats.h"

namespace headwise {
namespace {

constexpr float kEmpty = -std::numeric_limits<float>::infinity();
const float kPoison = std::numeric_limits<float>::quiet_NaN();

/// One token, one head, two elements.
struct Part {
  float out[2];
  float lse;

  PartialResult view() const {
    return {dense(static_cast<const void*>(out), DType::f32, {1, 1, 2}),
            dense(static_cast<const void*>(&lse), DType::f32, {1, 1})};
  }
};

Part merged(const std::vector<Part>& parts, const float* sink = nullptr) {
  std::vector<PartialResult> views;
  for (const Part& part : parts) views.push_back(part.view());
  Part whole{{kPoison, kPoison}, kPoison};
  merge(views, sink, dense(static_cast<void*>(whole.out), DType::f32, {1, 1, 2}),
        dense(static_cast<void*>(&whole.lse), DType::f32, {1, 1}));
  return whole;
}

void expect_bits(const Part& part, const Part& expected) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(part.out[i]),
              std::bit_cast<std::uint32_t>(expected.out[i]));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(part.lse), std::bit_cast<std::uint32_t>(expected.lse));
}

TEST(Merge, WeighsPartsByTheirSums) {
  const Part whole = merged({{{1.0F, 0.0F}, std::log(3.0F)}, {{5.0F, 2.0F}, std::log(1.0F)}});
  EXPECT_NEAR(whole.out[0], 2.0F, 1e-6F);
  EXPECT_NEAR(whole.out[1], 0.5F, 1e-6F);
  EXPECT_NEAR(whole.lse, std::log(4.0F), 1e-6F);
}

TEST(Merge, AnEmptyPartLeavesTheOtherBitForBit) {
  const Part empty{{kPoison, kPoison}, kEmpty};
  for (const Part& part : {Part{{-0.0F, 1.0000001F}, 3.1F}, Part{{1e-40F, -3e38F}, -300000.3F}}) {
    expect_bits(merged({part, empty}), part);
    expect_bits(merged({empty, empty, part}), part);
    expect_bits(merged({part}), part);
  }
}

TEST(Merge, EmptyPartsMakeAnEmptyOne) {
  const Part empty{{kPoison, kPoison}, kEmpty};
  for (const auto& parts : {std::vector<Part>{}, {empty}, {empty, empty}}) {
    expect_bits(merged(parts), Part{{0.0F, 0.0F}, kEmpty});
    const float sink = 1.5F;
    expect_bits(merged(parts, &sink), Part{{0.0F, 0.0F}, sink});
  }
}

TEST(Merge, TheSinkIsInTheDenominatorOnce) {
  const float sink = std::log(4.0F);
  const Part whole = merged({{{8.0F, 0.0F}, std::log(3.0F)}, {{8.0F, 16.0F}, 0.0F}}, &sink);
  EXPECT_NEAR(whole.out[0], 4.0F, 1e-5F);
  EXPECT_NEAR(whole.out[1], 2.0F, 1e-5F);
  EXPECT_NEAR(whole.lse, std::log(8.0F), 1e-6F);
}

TEST(Merge, NanStaysNan) {
  const float sink = 3.0F;
  const Part good{{1.0F, 2.0F}, 5.0F};
  const Part bad{{kPoison, kPoison}, kPoison};
  for (const auto& parts : {std::vector<Part>{good, bad}, {bad, good}}) {
    EXPECT_TRUE(std::isnan(merged(parts, &sink).out[0]));
    EXPECT_TRUE(std::isnan(merged(parts).lse));
  }
}

TEST(Merge, LogitsMayBeHuge) {
  const Part whole = merged({{{1.0F, 1.0F}, -400000.0F}, {{3.0F, 3.0F}, -400000.0F}});
  EXPECT_FLOAT_EQ(whole.out[0], 2.0F);
  EXPECT_FLOAT_EQ(whole.lse, -400000.0F + std::log(2.0F));
}

TEST(Merge, StridesAndNarrowOutputs) {
  const float part_out[2 * 2 * 4] = {1, 2, 9, 9, 3, 4, 9, 9,
                                     5, 6, 9, 9, 7, 8, 9, 9};  // rows padded to 4
  const float part_lse[4] = {0, 1, 2, 3};                      // [head, token]
  PartialResult part{dense(static_cast<const void*>(part_out), DType::f32, {2, 2, 2}),
                     dense(static_cast<const void*>(part_lse), DType::f32, {2, 2})};
  part.out.strides = {8, 4, 1};
  part.lse.strides = {1, 2};
  std::vector<std::uint16_t> out(8);
  std::vector<float> lse(4);
  merge({&part, 1}, nullptr, dense(static_cast<void*>(out.data()), DType::bf16, {2, 2, 2}),
        dense(static_cast<void*>(lse.data()), DType::f32, {2, 2}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(bf16_to_float(out[i]), static_cast<float>(i + 1));
  EXPECT_EQ(lse, (std::vector<float>{0, 2, 1, 3}));
}

}  // namespace
}  // namespace headwise
