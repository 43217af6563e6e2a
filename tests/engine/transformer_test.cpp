#include "engine/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/log.h"
#include "headwise/error.h"
#include "tests/engine/double_llama.h"
#include "tests/engine/tiny_llama.h"

namespace headwise {
namespace {

KvCacheOptions cache_for(const LlamaConfig& config, int page_size, std::int64_t pages) {
  KvCacheOptions options;
  options.groups = {
      {.group = {.shape = attention_shape(config), .layers = config.layers}, .pages = pages}};
  options.page_size = page_size;
  options.max_tokens = 40;
  return options;
}

AttentionOptions options_for(std::int32_t max_tokens, std::string backend = "") {
  return {.backend = std::move(backend), .max_tokens = max_tokens, .max_context = 40};
}

std::vector<TokenId> some_tokens(int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 97 + 13) % 263);
  return tokens;
}

void expect_near(std::span<const float> logits, const std::vector<double>& exact) {
  ASSERT_EQ(logits.size(), exact.size());
  const double norm = std::sqrt(std::inner_product(exact.begin(), exact.end(), exact.begin(), 0.0));
  for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(logits[i], exact[i], 1e-5 * norm) << i;
}

struct Cut {
  std::vector<int> steps;  // tokens of each, 23 together
  int page_size;
  bool tied;
};

class TinyLlama : public testing::TestWithParam<Cut> {};

TEST_P(TinyLlama, EqualsLoopsInDoubleHoweverItIsCut) {
  const LlamaWeights weights = random_llama(tiny_config(GetParam().tied), 7);
  const std::vector<TokenId> tokens = some_tokens(23);
  KvCache cache(cache_for(weights.config, GetParam().page_size, 40));
  const SequenceId sequence = cache.create();
  Transformer transformer(weights, cache, options_for(23));
  std::size_t done = 0;
  for (const int step : GetParam().steps) {
    const auto part = std::span(tokens).subspan(done, std::size_t(step));
    const auto logits = transformer.forward(part, sequence);
    done += part.size();
    expect_near(logits, logits_in_double(weights, std::span(tokens).first(done)));
  }
  EXPECT_EQ(cache.length(sequence), 23);
}

INSTANTIATE_TEST_SUITE_P(Cuts, TinyLlama,
                         testing::Values(Cut{{23}, 16, true}, Cut{{23}, 1, false},
                                         Cut{std::vector<int>(23, 1), 3, true},
                                         Cut{{16, 7}, 16, false}, Cut{{5, 1, 12, 4, 1}, 5, true}));

TEST(Transformer, AFailedStepLeavesTheSequenceAsItWas) {
  const LlamaWeights weights = random_llama(tiny_config(), 7);
  KvCache cache(cache_for(weights.config, 4, 2));
  const SequenceId sequence = cache.create();
  Transformer transformer(weights, cache, options_for(8));
  const std::vector<TokenId> tokens = some_tokens(12);
  const auto part = [&](int first, int count) { return std::span(tokens).subspan(first, count); };
  transformer.forward(part(0, 3), sequence);
  const std::vector<TokenId> outside = {1, 263};
  EXPECT_THROW(transformer.forward(outside, sequence), Error);
  EXPECT_THROW(transformer.forward(std::vector<TokenId>{-1}, sequence), Error);
  EXPECT_THROW(transformer.forward({}, sequence), Error);
  EXPECT_THROW(transformer.forward(part(0, 9), sequence), Error);  // more than a step takes
  EXPECT_THROW(transformer.forward(part(3, 6), sequence), Error);  // more than there are pages
  EXPECT_EQ(cache.length(sequence), 3);
  expect_near(transformer.forward(part(3, 5), sequence), logits_in_double(weights, part(0, 8)));
}

TEST(Transformer, RefusesACacheOfAnotherModel) {
  const LlamaWeights weights = random_llama(tiny_config(), 7);
  LlamaConfig other = weights.config;
  other.layers = 3;
  KvCache cache(cache_for(other, 4, 2));
  EXPECT_THROW(Transformer(weights, cache, options_for(8)), Error);
  KvCache good(cache_for(weights.config, 4, 2));
  KvCache another(cache_for(weights.config, 4, 2));
  const SequenceId sequence = another.create();
  Transformer transformer(weights, good, options_for(8));
  EXPECT_THROW(transformer.forward(some_tokens(1), sequence), Error);
}

TEST(Transformer, SaysOnceAPhaseWhichBackendRuns) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const LlamaWeights weights = random_llama(tiny_config(), 7);
  KvCache cache(cache_for(weights.config, 4, 10));
  const SequenceId sequence = cache.create();
  Transformer transformer(weights, cache, options_for(8, "reference"));
  const std::vector<TokenId> tokens = some_tokens(8);
  for (const int count : {8, 8, 1, 1}) {
    transformer.forward(std::span(tokens).first(std::size_t(count)), sequence);
  }
  set_log_sink({});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("layers 0-1 prefill -> reference"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("layers 0-1 append -> reference"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("layers 0-1 decode -> reference"), std::string::npos) << lines[2];
  EXPECT_EQ(transformer.attention().log_lines(), lines);
  EXPECT_GT(transformer.attention().seconds(), 0.0);
}

TEST(Transformer, CheckComparesRowsOfEveryPhase) {
  const LlamaWeights weights = random_llama(tiny_config(), 7);
  KvCache cache(cache_for(weights.config, 4, 10));
  const SequenceId sequence = cache.create();
  Transformer transformer(weights, cache, options_for(8));
  transformer.check_attention();
  const std::vector<TokenId> tokens = some_tokens(8);
  transformer.forward(tokens, sequence);
  for (int i = 0; i < 16; ++i) transformer.forward({tokens.data(), 1}, sequence);
  EXPECT_GE(transformer.attention_check()->rows(), 4);
  EXPECT_TRUE(transformer.attention_check()->passed()) << transformer.attention_check()->worst();
}

}  // namespace
}  // namespace headwise
