#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "headwise/error.h"
#include "ops/activation.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/sampling.h"

namespace headwise {
namespace {

using Floats = std::vector<float>;

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const Floats x = {3, 4, 0, 0, 1, 1, 1, 1};  // root mean squares 2.5 and 1
  const Floats weight = {1, 2, 3, 4};
  Floats y(8, NAN);
  rms_norm(dense(x.data(), DType::f32, {2, 4}), dense(weight.data(), DType::f32, {1, 4}), 0.0F,
           dense(y.data(), DType::f32, {2, 4}));
  const Floats expected = {1.2F, 3.2F, 0, 0, 1, 2, 3, 4};
  for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(y[i], expected[i]) << i;
}

TEST(RmsNorm, EpsilonKeepsZerosFinite) {
  Floats x = {0, 0};
  const Floats weight = {1, 1};
  rms_norm(dense(std::as_const(x).data(), DType::f32, {1, 2}),
           dense(weight.data(), DType::f32, {1, 2}), 1e-5F, dense(x.data(), DType::f32, {1, 2}));
  EXPECT_EQ(x, (Floats{0, 0}));
}

TEST(RmsNorm, RefusesAWeightOfAnotherWidth) {
  Floats x(6);
  EXPECT_THROW(rms_norm(dense(std::as_const(x).data(), DType::f32, {2, 3}),
                        dense(std::as_const(x).data(), DType::f32, {1, 2}), 0.0F,
                        dense(x.data(), DType::f32, {2, 3})),
               Error);
}

TEST(SiluMul, KnownValues) {
  Floats gate = {0, 1, -1, 100, -100};
  const Floats up = {5, 2, 2, 3, 3};
  silu_mul(dense(std::as_const(gate).data(), DType::f32, {1, 5}),
           dense(up.data(), DType::f32, {1, 5}), dense(gate.data(), DType::f32, {1, 5}));
  const Floats expected = {0, 1.4621172F, -0.5378828F, 300, 0};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(gate[i], expected[i], 1e-6) << i;
}

TEST(Rope, TurnsPairsByPositionTimesFrequency) {
  RopeTable table(4, 100.0);  // frequencies 1 and 1/10
  table.set_positions(2, 2);
  Floats x = {1, 0, 1, 0, /*left alone:*/ 9, 9, 0, 1, 0, 1, 9, 9};
  rope(dense(x.data(), DType::f32, {2, 1, 6}), table);
  const Floats expected = {std::cos(2.0F),  std::sin(2.0F), std::cos(0.2F),  std::sin(0.2F), 9, 9,
                           -std::sin(3.0F), std::cos(3.0F), -std::sin(0.3F), std::cos(0.3F), 9, 9};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(x[i], expected[i], 1e-7) << i;
}

TEST(Rope, HeadsOfATokenTurnAlikeAndStridesAreKept) {
  RopeTable table(2, 10000.0);
  table.set_positions(5, 2);
  Floats x = {1, 2, 1, 2, -7, 3, 4, 3, 4, -7};  // two tokens of two heads, one element between
  MutableTensorView view = dense(x.data(), DType::f32, {2, 2, 2});
  view.strides[0] = 5;
  rope(view, table);
  EXPECT_NEAR(x[0], 1 * std::cos(5.0) - 2 * std::sin(5.0), 1e-6);
  EXPECT_EQ(x[0], x[2]);
  EXPECT_EQ(x[1], x[3]);
  EXPECT_EQ(x[4], -7);
  EXPECT_NEAR(x[6], 3 * std::sin(6.0) + 4 * std::cos(6.0), 1e-6);
}

TEST(Rope, RefusesOtherSizes) {
  EXPECT_THROW(RopeTable(3, 10000.0), Error);
  EXPECT_THROW(RopeTable(4, 0.0), Error);
  RopeTable table(4, 10000.0);
  table.set_positions(0, 2);
  Floats x(16);
  EXPECT_THROW(rope(dense(x.data(), DType::f32, {3, 1, 4}), table), Error);
  EXPECT_THROW(rope(dense(x.data(), DType::f32, {2, 4, 2}), table), Error);
  EXPECT_THROW(table.set_positions(-1, 2), Error);
}

TEST(Argmax, FirstOfTheLargest) {
  EXPECT_EQ(argmax(Floats{-3, -1, -2, -1}), 1);
  EXPECT_EQ(argmax(Floats{-INFINITY}), 0);
  EXPECT_THROW(argmax(Floats{}), Error);
  EXPECT_THROW(argmax(Floats{1, NAN, 2}), Error);
}

}  // namespace
}  // namespace headwise
