#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "ops/sampling.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

using Floats = std::vector<float>;

constexpr int kDraws = 20000;

std::map<int, int> counts_of(const Floats& logits, const SamplingOptions& options) {
  Sampler sampler(options);
  std::map<int, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.draw(logits)];
  return counts;
}

/// Compares draws with what probabilities, of which some may be 0, let expect: chi-square, whose
/// 99.9th percentile is at most degrees + 4.1 sqrt(degrees) + 8 (Laurent and Massart 2000, lemma 1:
/// degrees + 2 sqrt(degrees x) + 2 x with x = ln 1000 is above it).
void expect_drawn_as(const std::vector<double>& probabilities, std::map<int, int> counts) {
  double chi_square = 0.0;
  int degrees = -1;
  for (std::size_t token = 0; token < probabilities.size(); ++token) {
    const double expected = probabilities[token] * kDraws;
    const int found = counts[static_cast<int>(token)];
    if (expected == 0.0) {
      EXPECT_EQ(found, 0) << "token " << token;
      continue;
    }
    chi_square += std::pow(found - expected, 2) / expected;
    ++degrees;
  }
  const double x = std::log(1000.0);
  EXPECT_LE(chi_square, degrees + 2 * std::sqrt(degrees * x) + 2 * x);
  EXPECT_EQ(std::ssize(probabilities), std::ssize(counts));
}

/// softmax(logits / temperature) of the tokens in `kept`.
std::vector<double> softmax(const Floats& logits, double temperature,
                            const std::vector<int>& kept) {
  std::vector<double> probabilities(logits.size(), 0.0);
  double sum = 0.0;
  for (const int token : kept)
    sum += probabilities[std::size_t(token)] = std::exp(logits[std::size_t(token)] / temperature);
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

const Floats kLogits = {1.0F, -0.5F, 2.0F, 0.0F, 1.5F};

TEST(Argmax, FirstOfTheLargest) {
  EXPECT_EQ(argmax(Floats{-3, -1, -2, -1}), 1);
  EXPECT_EQ(argmax(Floats{-INFINITY}), 0);
  EXPECT_NE(error_of([] { argmax(Floats{}); }), "");
  EXPECT_EQ(error_of([] { argmax(Floats{1, NAN, 2}); }), "logit 1 is NaN");
}

TEST(Sampler, WithoutTemperatureTakesTheLargest) {
  Sampler sampler(SamplingOptions{.seed = 3});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sampler.draw(kLogits), 2);
  EXPECT_EQ(sampler.draw(Floats{4, 7, 7}), 1);
}

TEST(Sampler, DrawsByTheSoftmaxOfLogitsByTemperature) {
  const std::vector<int> all = {0, 1, 2, 3, 4};
  for (const double temperature : {0.5, 1.0, 3.0})
    for (const std::uint64_t seed : {1, 2, 3})
      expect_drawn_as(softmax(kLogits, temperature, all),
                      counts_of(kLogits, {.temperature = temperature, .seed = seed}));
}

TEST(Sampler, AShiftOfAllLogitsChangesNothing) {
  for (const float shift : {-1000.0F, 1000.0F, 32768.0F}) {
    Floats shifted = kLogits;
    for (float& logit : shifted) logit += shift;
    EXPECT_EQ(counts_of(shifted, {.temperature = 1.0}), counts_of(kLogits, {.temperature = 1.0}));
  }
}

TEST(Sampler, TopKLeavesTheLargest) {
  expect_drawn_as(softmax(kLogits, 2.0, {0, 2, 4}),
                  counts_of(kLogits, {.temperature = 2.0, .top_k = 3, .seed = 4}));
  expect_drawn_as(softmax(kLogits, 2.0, {2}),
                  counts_of(kLogits, {.temperature = 2.0, .top_k = 1, .seed = 4}));
  expect_drawn_as(softmax(kLogits, 2.0, {0, 1, 2, 3, 4}),
                  counts_of(kLogits, {.temperature = 2.0, .top_k = 9, .seed = 4}));
}

// Probabilities at temperature 1: 0.169, 0.038, 0.460, 0.062, 0.279, in order 2 4 0 3 1, which sum
// to 0.456, 0.733, 0.901, 0.963, 1.
TEST(Sampler, TopPLeavesTheFewestThatReachIt) {
  const std::map<double, std::vector<int>> kept = {
      {1e-9, {2}},           {0.45, {2}},       {0.47, {2, 4}},       {0.72, {2, 4}},
      {0.75, {2, 4, 0}},     {0.89, {2, 4, 0}}, {0.92, {2, 4, 0, 3}}, {0.98, {2, 4, 0, 3, 1}},
      {1.0, {2, 4, 0, 3, 1}}};
  for (const auto& [p, tokens] : kept)
    expect_drawn_as(softmax(kLogits, 1.0, tokens),
                    counts_of(kLogits, {.temperature = 1.0, .top_p = p, .seed = 5}));
}

TEST(Sampler, TemperatureComesFirstThenTopKThenTopP) {
  // Of all tokens 2 and 4 have 0.51 at temperature 2.5; of the three that top_k leaves 0.73.
  expect_drawn_as(softmax(kLogits, 2.5, {2, 4}),
                  counts_of(kLogits, {.temperature = 2.5, .top_k = 3, .top_p = 0.65, .seed = 6}));
  // At temperature 0.3 token 2 alone has 0.81, at 1 less than half.
  expect_drawn_as(softmax(kLogits, 0.3, {2}),
                  counts_of(kLogits, {.temperature = 0.3, .top_p = 0.75, .seed = 6}));
}

TEST(Sampler, OfEqualsTheFirstStay) {
  const Floats equal(6, 1.0F);
  expect_drawn_as(softmax(equal, 1.0, {0, 1}),
                  counts_of(equal, {.temperature = 1.0, .top_k = 2, .seed = 7}));
  expect_drawn_as(softmax(equal, 1.0, {0, 1, 2}),
                  counts_of(equal, {.temperature = 1.0, .top_p = 0.5, .seed = 7}));
  expect_drawn_as(softmax(equal, 1.0, {0, 1, 2, 3, 4, 5}),
                  counts_of(equal, {.temperature = 1.0, .seed = 7}));
}

TEST(Sampler, TheSameSeedDrawsTheSame) {
  const auto drawn = [](std::uint64_t seed) {
    Sampler sampler({.temperature = 1.0, .seed = seed});
    std::vector<int> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(sampler.draw(kLogits));
    return tokens;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  EXPECT_EQ(drawn(0), drawn(SamplingOptions().seed));
}

TEST(Sampler, WhatCannotBeIsNeverDrawn) {
  const Floats logits = {-INFINITY, 0.0F, -INFINITY, 0.0F};
  expect_drawn_as({0.0, 0.5, 0.0, 0.5}, counts_of(logits, {.temperature = 1.0, .seed = 8}));
  Sampler sampler({.temperature = 1.0});
  EXPECT_EQ(sampler.draw(Floats{-INFINITY, 5.0F}), 1);
  EXPECT_EQ(sampler.draw(Floats{5.0F}), 0);
  Sampler cold({.temperature = 1e-300});
  EXPECT_EQ(cold.draw(kLogits), 2);
  Sampler hot({.temperature = 1e300, .top_p = 0.999});
  EXPECT_LT(hot.draw(kLogits), 5);
}

TEST(Sampler, RefusesWhatMeansNothing) {
  for (const double temperature : {0.0, 1.0}) {
    Sampler sampler({.temperature = temperature});
    EXPECT_NE(error_of([&] { sampler.draw(Floats{}); }), "");
    EXPECT_EQ(error_of([&] { sampler.draw(Floats{0, 1, NAN}); }), "logit 2 is NaN");
    EXPECT_EQ(sampler.draw(Floats{0, 90}), 1);  // goes on
  }
  // An infinite one leaves no probabilities for the rest: it is certain.
  Sampler sampler({.temperature = 1.0});
  EXPECT_EQ(sampler.draw(Floats{0.0F, INFINITY, 1.0F}), 1);
  EXPECT_EQ(sampler.draw(Floats{-INFINITY, -INFINITY}), 0);
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  const auto error = [](const SamplingOptions& options) {
    return error_of([&] { Sampler sampler(options); });
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.temperature = -0.5}), "temperature must be a number from 0 on, is -0.5");
  EXPECT_NE(error({.temperature = NAN}), "");
  EXPECT_NE(error({.temperature = INFINITY}), "");
  EXPECT_EQ(error({.top_k = -1}), "top_k must not be negative, is -1");
  EXPECT_EQ(error({.top_p = 0.0}), "top_p must be above 0 and at most 1, is 0");
  EXPECT_NE(error({.top_p = 1.5}), "");
  EXPECT_NE(error({.top_p = NAN}), "");
}

}  // namespace
}  // namespace headwise
