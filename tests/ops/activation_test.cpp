#include "ops/activation.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/error_of.h"

namespace headwise {
namespace {

using Floats = std::vector<float>;
using Gated = void (*)(const TensorView&, const TensorView&, const MutableTensorView&);

double silu(double z) { return z / (1.0 + std::exp(-z)); }

double gelu(double z) {
  return 0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (z + 0.044715 * z * z * z)));
}

struct Activation {
  std::string name;
  Gated gated;
  double (*exact)(double);
};

void PrintTo(const Activation& activation, std::ostream* stream) { *stream << activation.name; }

class Activations : public testing::TestWithParam<Activation> {
 protected:
  static Floats run(const Floats& gate, const Floats& up) {
    Floats y(gate.size(), -5.0F);
    const auto width = std::ssize(gate);
    GetParam().gated(dense(gate.data(), DType::f32, {1, width}),
                     dense(up.data(), DType::f32, {1, width}),
                     dense(y.data(), DType::f32, {1, width}));
    return y;
  }

  static void expect_exact(const Floats& gate, double tolerance) {
    const Floats y = run(gate, Floats(gate.size(), 1.0F));
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double exact = GetParam().exact(gate[i]);
      EXPECT_NEAR(y[i], exact, tolerance * std::abs(exact) + 1e-7) << gate[i];
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Functions, Activations,
                         testing::Values(Activation{"silu", silu_mul, silu},
                                         Activation{"gelu", gelu_mul, gelu}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Activations, EqualThoseInDoubleOverAWideRange) {
  Floats gate;
  for (float z = -120.0F; z <= 120.0F; z += 0.013F) gate.push_back(z);
  expect_exact(gate, 1e-6);
  gate.clear();
  for (float z = 1e-30F; z < 1e30F; z *= 1.37F) gate.insert(gate.end(), {z, -z});
  expect_exact(gate, 1e-6);
}

TEST_P(Activations, SmallNumbersAreHalved) {
  const Floats gate = {FLT_MIN, -FLT_MIN, 3e-39F, -3e-39F, 1e-20F, -1e-10F, 0.0F};
  const Floats y = run(gate, Floats(gate.size(), 1.0F));
  for (std::size_t i = 0; i < gate.size(); ++i)
    EXPECT_NEAR(y[i], gate[i] / 2, std::abs(gate[i]) * 1e-6 + FLT_TRUE_MIN) << gate[i];
}

TEST_P(Activations, HugeNumbersAreThemselvesOrNothing) {
  const Floats gate = {1e30F, FLT_MAX, INFINITY, -1e30F, -FLT_MAX, -INFINITY};
  const Floats y = run(gate, Floats(gate.size(), 1.0F));
  EXPECT_EQ(y[0], 1e30F);
  EXPECT_EQ(y[1], FLT_MAX);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_NEAR(y[3], 0.0, 1e-7);
  EXPECT_NEAR(y[4], 0.0, 1e-7);
  EXPECT_NEAR(y[5], 0.0, 1e-7);
}

TEST_P(Activations, NotANumberStaysSo) {
  EXPECT_TRUE(std::isnan(run({NAN}, {1.0F})[0]));
  EXPECT_TRUE(std::isnan(run({1.0F}, {NAN})[0]));
  EXPECT_TRUE(std::isnan(run({0.0F}, {INFINITY})[0]));
  const Floats among(37, NAN);
  for (const float y : run(among, Floats(37, 2.0F))) EXPECT_TRUE(std::isnan(y));
}

TEST_P(Activations, AreMultipliedWithUpRowByRow) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kWidth = 19;
  std::mt19937 generator(3);
  std::normal_distribution<float> normal(0.0F, 4.0F);
  Floats both(kRows * 2 * kWidth);  // a token's gate, then its up
  for (float& number : both) number = normal(generator);
  const Floats before = both;
  MutableTensorView gate = dense(both.data(), DType::f32, {kRows, kWidth});
  gate.strides[0] = 2 * kWidth;
  MutableTensorView up = gate;
  up.data = both.data() + kWidth;
  GetParam().gated(gate, up, gate);
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const auto at = std::size_t(row * 2 * kWidth + i);
      const double exact = GetParam().exact(before[at]) * before[at + kWidth];
      EXPECT_NEAR(both[at], exact, 1e-6 * std::abs(exact) + 1e-6);
      EXPECT_EQ(both[at + kWidth], before[at + kWidth]);
    }
}

TEST_P(Activations, RefuseOtherSizes) {
  Floats x(12);
  const auto view = [&](std::int64_t rows, std::int64_t width) {
    return dense(x.data(), DType::f32, {rows, width});
  };
  const auto error = [&](MutableTensorView gate, MutableTensorView up, MutableTensorView y) {
    return error_of([&] { GetParam().gated(gate, up, y); });
  };
  EXPECT_EQ(error(view(2, 3), view(2, 3), view(2, 3)), "");
  EXPECT_EQ(error(view(2, 3), view(2, 4), view(2, 3)), "up is [2, 4], gate is [2, 3]");
  EXPECT_EQ(error(view(2, 3), view(2, 3), view(3, 3)), "y is [3, 3], gate is [2, 3]");
}

}  // namespace
}  // namespace headwise
