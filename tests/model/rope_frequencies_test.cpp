#include "model/rope_frequencies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/model/error_of.h"

namespace headwise {
namespace {

// Of an independent implementation: rope_vectors.py.
void expect_golden(const RopeConfig& rope, const std::string& name) {
  std::ifstream file(HEADWISE_MODEL_TEST_DATA "/rope_frequencies.json");
  const nlohmann::json golden = nlohmann::json::parse(file).at(name);
  const auto frequencies = golden.at("frequencies").get<std::vector<double>>();
  ASSERT_EQ(rope.frequencies.size(), frequencies.size()) << name;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    EXPECT_NEAR(rope.frequencies[i] / frequencies[i], 1.0, 1e-12) << name << " pair " << i;
  }
  EXPECT_NEAR(rope.magnitude, golden.at("magnitude").get<double>(), 1e-12) << name;
}

TEST(RopeFrequencies, PlainOnesArePowersOfTheBase) {
  const RopeConfig rope = plain_rope(10000.0, 8);
  ASSERT_EQ(rope.frequencies.size(), 4U);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(rope.frequencies[i], std::pow(0.1, i), 1e-15);
  EXPECT_EQ(rope.base, 10000.0);
  EXPECT_EQ(rope.magnitude, 1.0);
  EXPECT_EQ(rope.scaling, "");
}

TEST(RopeFrequencies, StretchedOnesAreThoseOfAnotherImplementation) {
  expect_golden(linear_rope(1e6, 256, 8.0), "linear x8 d256");
  expect_golden(llama3_rope(5e5, 128, {8.0, 1.0, 4.0, 8192.0}), "llama3 x8 d128");
  expect_golden(llama3_rope(5e5, 64, {32.0, 1.0, 4.0, 8192.0}), "llama3 x32 d64");
  const YarnScaling yarn{.factor = 4.0, .original_context = 32768.0};
  expect_golden(yarn_rope(1e6, 128, yarn), "yarn x4 d128");
  YarnScaling betas = yarn;
  betas.beta_fast = 24.0;
  betas.beta_slow = 2.0;
  betas.whole_pairs = false;
  expect_golden(yarn_rope(1e6, 128, betas), "yarn x4 d128 betas");
  const YarnScaling magnitude{.factor = 40.0, .original_context = 4096.0, .magnitude = 1.25};
  expect_golden(yarn_rope(1e4, 64, magnitude), "yarn x40 d64 magnitude");
}

TEST(RopeFrequencies, ScalingIsSaid) {
  EXPECT_EQ(linear_rope(1e6, 8, 8.0).scaling, "linear x8");
  EXPECT_EQ(llama3_rope(5e5, 8, {8.0, 1.0, 4.0, 8192.0}).scaling, "llama3 x8 from 8192");
  EXPECT_EQ(yarn_rope(1e6, 8, {.factor = 4.0, .original_context = 32768.0}).scaling,
            "yarn x4 from 32768");
}

TEST(RopeFrequencies, StoredFactorsDivide) {
  const std::vector<float> factors{1.0F, 8.0F};
  const RopeConfig rope = divided_rope(plain_rope(100.0, 4), factors);
  EXPECT_NEAR(rope.frequencies[0], 1.0, 1e-15);
  EXPECT_NEAR(rope.frequencies[1], 0.1 / 8.0, 1e-15);
  EXPECT_EQ(rope.scaling, "factors");
  const auto refused = [](std::vector<float> bad) {
    return error_of([&] { divided_rope(plain_rope(100.0, 4), bad); });
  };
  EXPECT_EQ(refused({1.0F}), "there are 1 frequency factors for 2 rotary pairs");
  EXPECT_EQ(refused({1.0F, 0.0F}), "frequency factor 1 is out of range: 0");
  EXPECT_EQ(refused({NAN, 1.0F}), "frequency factor 0 is out of range: nan");
}

}  // namespace
}  // namespace headwise
