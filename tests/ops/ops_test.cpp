#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/elementwise.h"
#include "ops/norm.h"
#include "tests/model/error_of.h"

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

TEST(RmsNorm, EpsilonIsAddedToTheMeanSquare) {
  const Floats x = {3, 4};
  const Floats weight = {1, 1};
  Floats y(2);
  rms_norm(dense(x.data(), DType::f32, {1, 2}), dense(weight.data(), DType::f32, {1, 2}), 12.5F,
           dense(y.data(), DType::f32, {1, 2}));
  EXPECT_FLOAT_EQ(y[0], 0.6F);
  EXPECT_FLOAT_EQ(y[1], 0.8F);
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
  EXPECT_NE(error_of([&] {
              rms_norm(dense(std::as_const(x).data(), DType::f32, {2, 3}),
                       dense(std::as_const(x).data(), DType::f32, {1, 2}), 0.0F,
                       dense(x.data(), DType::f32, {2, 3}));
            }),
            "");
}

/// q, k and v of a token lie behind one another: what is between heads stays as it was.
TEST(RmsNormHeads, NormalisesEachHeadByItself) {
  Floats x = {3, 4, 1, 1, -7, 0, 2, -5, 5, -7};  // two tokens of two heads, one element between
  const Floats weight = {1, 10};
  MutableTensorView heads = dense(x.data(), DType::f32, {2, 2, 2});
  heads.strides[0] = 5;
  rms_norm_heads(heads, dense(weight.data(), DType::f32, {1, 2}), 0.0F);
  const float r = std::sqrt(12.5F);
  const float s = std::sqrt(2.0F);
  const Floats expected = {3 / r, 40 / r, 1, 10, -7, 0, 10 * s, -1, 10, -7};
  for (int i = 0; i < 10; ++i) EXPECT_FLOAT_EQ(x[i], expected[i]) << i;
}

TEST(RmsNormHeads, EqualLoopsInDouble) {
  constexpr int kDim = 130;
  Floats x(std::size_t(3 * 2 * kDim));
  Floats weight(kDim);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i * i)) * double(i));
  for (std::size_t i = 0; i < kDim; ++i) weight[i] = float(std::cos(double(i)));
  const Floats before = x;
  rms_norm_heads(dense(x.data(), DType::f32, {3, 2, kDim}),
                 dense(weight.data(), DType::f32, {1, kDim}), 1e-6F);
  for (std::size_t head = 0; head < 6; ++head) {
    double squares = 0.0;
    for (std::size_t i = 0; i < kDim; ++i) squares += std::pow(before[head * kDim + i], 2);
    const double root = std::sqrt(squares / kDim + 1e-6);
    for (std::size_t i = 0; i < kDim; ++i)
      EXPECT_NEAR(x[head * kDim + i], before[head * kDim + i] / root * weight[i], 2e-6);
  }
}

TEST(RmsNormHeads, RefusesAWeightOfAnotherWidth) {
  Floats x(12);
  const auto error = [&](std::int64_t dim, std::int64_t weight_width) {
    return error_of([&] {
      rms_norm_heads(dense(x.data(), DType::f32, {2, 6 / dim, dim}),
                     dense(std::as_const(x).data(), DType::f32, {1, weight_width}), 0.0F);
    });
  };
  EXPECT_EQ(error(3, 3), "");
  EXPECT_EQ(error(3, 6), "weight is [1, 6], must be [1, 3]");
}

TEST(Add, AddsRowsOrOneRowToAll) {
  Floats y = {1, 2, 3, 4, 5, 6};
  const Floats x = {10, 20, 30, 40, 50, 60};
  add(dense(x.data(), DType::f32, {3, 2}), dense(y.data(), DType::f32, {3, 2}));
  EXPECT_EQ(y, (Floats{11, 22, 33, 44, 55, 66}));
  add(dense(x.data(), DType::f32, {1, 2}), dense(y.data(), DType::f32, {3, 2}));
  EXPECT_EQ(y, (Floats{21, 42, 43, 64, 65, 86}));
}

TEST(Add, KeepsWhatLiesBetweenRows) {
  Floats y = {1, 2, -7, 3, 4, -7};
  const Floats x = {10, 20, 9, 30, 40, 9};
  MutableTensorView rows = dense(y.data(), DType::f32, {2, 2});
  rows.strides[0] = 3;
  TensorView what = dense(x.data(), DType::f32, {2, 2});
  what.strides[0] = 3;
  add(what, rows);
  EXPECT_EQ(y, (Floats{11, 22, -7, 33, 44, -7}));
}

TEST(Add, RefusesOtherSizes) {
  Floats y(12);
  const auto error = [&](std::int64_t rows, std::int64_t width) {
    return error_of([&] {
      add(dense(std::as_const(y).data(), DType::f32, {rows, width}),
          dense(y.data(), DType::f32, {3, 2}));
    });
  };
  EXPECT_EQ(error(2, 2), "x is [2, 2], y [3, 2]");
  EXPECT_EQ(error(3, 4), "x is [3, 4], y [3, 2]");
  EXPECT_EQ(error(1, 1), "x is [1, 1], y [3, 2]");
}

/// The upper half of a float, the lower one rounded to the nearer, ties to even.
TEST(RoundHeads, ToTheNearerNumberOfBf16) {
  const float step = 0x1p-7F;  // from 1 to 2
  Floats x = {1.0F,
              1.0F + step / 4,
              1.0F + step / 2,
              1.0F + step * 3 / 4,
              1.0F + step * 3 / 2,
              -1.0F - step * 3 / 4,
              INFINITY,
              -0.0F};
  std::vector<std::uint16_t> y(8);
  round_heads(dense(x.data(), DType::f32, {1, 2, 4}), dense(y.data(), DType::bf16, {1, 2, 4}));
  const std::vector<std::uint16_t> expected = {0x3f80, 0x3f80, 0x3f80, 0x3f81,
                                               0x3f82, 0xbf81, 0x7f80, 0x8000};
  EXPECT_EQ(y, expected);
}

TEST(RoundHeads, ReadsTokensApartAndWritesThemDense) {
  Floats x = {1, 2, -7, 3, 4, -7};
  std::vector<std::uint16_t> y(4);
  MutableTensorView heads = dense(x.data(), DType::f32, {2, 1, 2});
  heads.strides[0] = 3;
  round_heads(heads, dense(y.data(), DType::bf16, {2, 1, 2}));
  EXPECT_EQ(y, (std::vector<std::uint16_t>{0x3f80, 0x4000, 0x4040, 0x4080}));
}

TEST(RoundHeads, RefusesOtherSizesAndTypes) {
  Floats x(8);
  std::vector<std::uint16_t> y(16);
  const MutableTensorView heads = dense(x.data(), DType::f32, {2, 2, 2});
  const auto error = [&](const MutableTensorView& to) {
    return error_of([&] { round_heads(heads, to); });
  };
  EXPECT_EQ(error(dense(y.data(), DType::bf16, {2, 2, 2})), "");
  EXPECT_NE(error(dense(y.data(), DType::f16, {2, 2, 2})), "");
  EXPECT_NE(error(dense(y.data(), DType::bf16, {2, 1, 4})), "");
  MutableTensorView apart = dense(y.data(), DType::bf16, {2, 2, 2});
  apart.strides[0] = 8;
  EXPECT_NE(error(apart), "");
}

}  // namespace
}  // namespace headwise
