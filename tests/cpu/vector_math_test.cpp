#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "cpu/tiled/kernels.h"
#include "headwise/machine.h"

namespace headwise::tiled {
namespace {

struct Candidate {
  const TileKernels* kernels;
  bool runs_here;
};

std::vector<Candidate> candidates() {
  const CpuInfo& cpu = this_machine().cpu;
  return {{&kPortableF32, true},
          {&kAvx2F32, cpu.avx2},
          {&kAvx512F32, cpu.avx512},
          {&kAvx512VbmiF32, cpu.avx512_bf16},
          {&kAvx512Bf16, cpu.avx512_bf16},
          {&kAmxBf16, cpu.amx_bf16}};
}

double ulp(double exact) {
  const auto x = static_cast<float>(exact);
  return static_cast<double>(std::nextafter(x, INFINITY)) - x;
}

/// Every 64th float from -151 to 128 and the ones around whole numbers: the range that weights come
/// from.
std::vector<float> arguments() {
  std::vector<float> x;
  for (const float last : {151.0F, 1.0F}) {
    const auto bits = std::bit_cast<std::uint32_t>(last);
    for (std::uint32_t b = 0; b < bits; b += 64) x.push_back(std::bit_cast<float>(b | 0x80000000U));
  }
  for (int n = -151; n <= 126; ++n)
    for (int i = -8; i <= 8; ++i)
      x.push_back(static_cast<float>(n) + static_cast<float>(i) * 0.0625F);
  while (x.size() % 16 != 0) x.push_back(0.0F);
  return x;
}

TEST(VectorMath, PowersOfTwoAreWithinTwoUlp) {
  const std::vector<float> x = arguments();
  std::vector<float> y(x.size());
  for (const Candidate& candidate : candidates()) {
    if (!candidate.runs_here) continue;
    candidate.kernels->powers_of_two(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    double worst = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp2(static_cast<double>(x[i]));
      worst = std::max(worst, std::fabs(y[i] - exact) / ulp(exact));
    }
    EXPECT_LE(worst, 2.0) << candidate.kernels->name;
    RecordProperty(std::string(candidate.kernels->name) + " ulp", std::to_string(worst));
  }
}

TEST(VectorMath, WeightsAreAsGoodAsWhatTheyAreRoundedTo) {
  const std::vector<float> x = arguments();
  std::vector<float> y(x.size());
  for (const Candidate& candidate : candidates()) {
    if (!candidate.runs_here) continue;
    candidate.kernels->weights(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp2(static_cast<double>(x[i]));
      ASSERT_LE(std::fabs(y[i] - exact), 1e-4 * exact + 2 * ulp(0.0))
          << candidate.kernels->name << " of " << x[i];
    }
  }
}

TEST(VectorMath, PowersOfTwoAtTheEdges) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {-INFINITY, -1e30F,  -152.0F, nan,   0.0F, -0.0F, 1.0F, -1.0F,
                                -149.0F,   -126.0F, 10.0F,   -2.0F, 2.0F, -3.0F, 3.0F, -INFINITY};
  std::vector<float> y(x.size());
  for (const Candidate& candidate : candidates()) {
    if (!candidate.runs_here) continue;
    candidate.kernels->powers_of_two(x.data(), y.data(), 16);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]))
        EXPECT_TRUE(std::isnan(y[i])) << candidate.kernels->name;
      else
        EXPECT_EQ(y[i], static_cast<float>(std::exp2(static_cast<double>(x[i]))))
            << candidate.kernels->name << " of " << x[i];
    }
  }
}

TEST(VectorMath, HyperbolicTangentIsWithinFourUlp) {
  std::vector<float> x;
  for (std::uint32_t b = 0; b < std::bit_cast<std::uint32_t>(20.0F); b += 1024) {
    x.push_back(std::bit_cast<float>(b));
    x.push_back(-std::bit_cast<float>(b));
  }
  while (x.size() % 16 != 0) x.push_back(100.0F);
  std::vector<float> y(x.size());
  for (const Candidate& candidate : candidates()) {
    if (!candidate.runs_here) continue;
    candidate.kernels->hyperbolic_tangents(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    double worst = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::tanh(static_cast<double>(x[i]));
      ASSERT_FALSE(std::isnan(y[i]));
      ASSERT_TRUE(x[i] == 0.0F || std::signbit(y[i]) == std::signbit(x[i]));
      worst = std::max(worst, std::fabs(y[i] - exact) / ulp(std::fabs(exact)));
    }
    EXPECT_LE(worst, 4.0) << candidate.kernels->name;
  }
}

}  // namespace
}  // namespace headwise::tiled
