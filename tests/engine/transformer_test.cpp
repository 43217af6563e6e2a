#include "engine/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/log.h"
#include "ops/sampling.h"
#include "tests/engine/tiny_engine.h"
#include "tests/model/error_of.h"

namespace headwise {
namespace {

constexpr double kF32Bound = 1e-5;

/// Runs the tokens in steps of the given sizes and compares the logits behind each step. Returns
/// the root mean square of their distances.
double expect_exact(TinyEngine& engine, std::span<const TokenId> tokens, std::span<const int> steps,
                    int page_size, double bound) {
  const std::int64_t pages = (std::ssize(tokens) + page_size - 1) / page_size;
  KvCache cache(engine.cache_options(page_size, pages));
  const SequenceId sequence = cache.create();
  Transformer transformer(engine.weights, cache,
                          engine.attention_options(*std::ranges::max_element(steps)));
  const std::vector<DoubleModel::Row> exact = engine.exact.logits(tokens);
  std::size_t done = 0;
  double squares = 0.0;
  for (const int step : steps) {
    const auto logits =
        transformer.forward(tokens.subspan(done, static_cast<std::size_t>(step)), sequence);
    done += static_cast<std::size_t>(step);
    const double found = distance(logits, exact[done - 1]);
    EXPECT_LE(found, bound) << "behind token " << done;
    squares += found * found;
  }
  EXPECT_EQ(done, tokens.size());
  EXPECT_EQ(cache.length(sequence), std::ssize(tokens));
  return std::sqrt(squares / double(steps.size()));
}

std::string name_of_model(const testing::TestParamInfo<TinyModel>& tested) {
  return tested.param.name;
}

class EveryFamily : public testing::TestWithParam<TinyModel> {};

INSTANTIATE_TEST_SUITE_P(Models, EveryFamily, testing::ValuesIn(every_model()), name_of_model);

TEST_P(EveryFamily, EqualsLoopsInDoubleHoweverItIsCut) {
  TinyEngine engine(GetParam());
  const std::vector<std::vector<int>> cuts = {{40},
                                              std::vector<int>(40, 1),
                                              {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1},
                                              {5, 1, 12, 4, 1, 17}};
  for (const std::vector<int>& steps : cuts) {
    SCOPED_TRACE(steps.front());
    for (const int page_size : {1, 3, 16, 64})
      expect_exact(engine, some_tokens(40), steps, page_size, kF32Bound);
  }
}

/// The root mean square of how far logits move where loops in double round to bf16.
double rounding_error(const TinyEngine& engine, std::span<const TokenId> tokens) {
  const std::vector<DoubleModel::Row> exact = engine.exact.logits(tokens);
  const std::vector<DoubleModel::Row> rounded = DoubleModel(engine.model_file, true).logits(tokens);
  double squares = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::vector<float> row(rounded[i].begin(), rounded[i].end());
    squares += std::pow(distance(row, exact[i]), 2);
  }
  return std::sqrt(squares / double(exact.size()));
}

// The engine rounds no more than loops in double that round wherever it may. Errors of single
// tokens spread around the root mean square: some are a few times as large.
TEST_P(EveryFamily, InBf16IsAsNearAsRoundingAllows) {
  if (!can_compute(Maths::bf16)) GTEST_SKIP() << "no bf16 on this machine";
  TinyEngine engine(GetParam(), Maths::bf16);
  const std::vector<TokenId> tokens = some_tokens(80);
  const double expected = rounding_error(engine, tokens);
  EXPECT_LE(expected, 2e-2);
  for (const int step : {1, 10}) {
    const std::vector<int> steps(std::size_t(80 / step), step);
    EXPECT_LE(expect_exact(engine, tokens, steps, 16, 5 * expected), 2 * expected) << step;
  }
  for (const std::vector<int>& steps : {std::vector<int>{80}, {5, 1, 12, 4, 1, 57}})
    expect_exact(engine, tokens, steps, 16, 5 * expected);
}

TEST_P(EveryFamily, EachRowOfAStepHasItsLogits) {
  TinyEngine engine(GetParam());
  const std::vector<TokenId> tokens = some_tokens(75);
  const std::vector<DoubleModel::Row> exact = engine.exact.logits(tokens);
  KvCache cache(engine.cache_options(16, 10));
  const SequenceId one_by_one = cache.create();
  Transformer transformer(engine.weights, cache, engine.attention_options(70));
  std::vector<std::vector<float>> steps;
  for (const TokenId& token : tokens) {
    const auto logits = transformer.forward({&token, 1}, one_by_one);
    steps.emplace_back(logits.begin(), logits.end());
  }
  cache.free(one_by_one);
  const SequenceId sequence = cache.create();
  std::int64_t next = 0;
  const auto compare = [&](std::int64_t first) {
    return [&, first](std::int64_t index, std::span<const float> logits) {
      const auto row = static_cast<std::size_t>(first + index);
      EXPECT_EQ(first + index, next++);
      EXPECT_LE(distance(logits, exact[row]), kF32Bound) << row;
      const DoubleModel::Row step(steps[row].begin(), steps[row].end());
      EXPECT_LE(distance(logits, step), kF32Bound) << row;
    };
  };
  transformer.forward_each(std::span(tokens).first(5), sequence, compare(0));
  transformer.forward_each(std::span(tokens).subspan(5), sequence, compare(5));
  EXPECT_EQ(next, 75);
}

/// Also behind the 64th token, from where on it is looked for in fewer bits.
TEST(Transformer, TheLikeliestTokenIsThatOfTheLogits) {
  if (!can_compute(Maths::blocks)) GTEST_SKIP() << "no block products on this machine";
  TinyModel model = llama_model();
  model.width = 32;  // whole blocks
  model.spare_rows = 4200;
  TinyEngine engine(model, Maths::blocks);
  ASSERT_TRUE(engine.weights.output_matrix().finds_largest_row());
  KvCacheOptions options = engine.cache_options(16, 20);
  options.max_sequences = 2;
  KvCache cache(options);
  const SequenceId by_logits = cache.create();
  const SequenceId by_search = cache.create();
  Transformer transformer(engine.weights, cache, engine.attention_options(1));
  TokenId next = 5;
  for (int i = 0; i < 79; ++i) {
    const std::int64_t among = engine.weights.config.vocab - i % 2 * 3;
    const auto logits = transformer.forward({&next, 1}, by_logits);
    const TokenId expected = argmax(logits.first(static_cast<std::size_t>(among)));
    next = transformer.forward_to_likeliest({&next, 1}, by_search, {}, among);
    ASSERT_EQ(next, expected) << i;
  }
}

/// The pools have no more pages than windows and a step take: 8 tokens of 2 a page, and a half.
TEST(Transformer, WindowsGiveUpTheirPages) {
  TinyEngine engine(gemma3_model());
  const std::vector<TokenId> tokens = some_tokens(80);
  const std::vector<DoubleModel::Row> exact = engine.exact.logits(tokens);
  KvCacheOptions options = engine.cache_options(2, 40);
  options.groups[0].pages = 5;
  options.prefix_cache = false;
  KvCache cache(options);
  const SequenceId sequence = cache.create();
  Transformer transformer(engine.weights, cache, engine.attention_options(4));
  for (std::size_t done = 0; done < tokens.size(); done += 4) {
    const auto logits = transformer.forward(std::span(tokens).subspan(done, 4), sequence);
    ASSERT_LE(distance(logits, exact[done + 3]), kF32Bound) << done;
  }
  const auto pages = cache.pages(sequence, 0);
  ASSERT_EQ(pages.size(), 40U);
  EXPECT_EQ(std::ranges::count_if(pages, [](int page) { return page >= 0; }), 2);
  EXPECT_EQ(std::ranges::count(cache.pages(sequence, 1), -1), 0);
}

TEST(Transformer, AFailedStepLeavesTheSequenceAsItWas) {
  for (const TinyModel& model : {llama_model(), gemma3_model()}) {
    TinyEngine engine(model);
    KvCache cache(engine.cache_options(4, 2));
    const SequenceId sequence = cache.create();
    Transformer transformer(engine.weights, cache, engine.attention_options(8));
    const std::vector<TokenId> tokens = some_tokens(12);
    const auto part = [&](int first, int count) { return std::span(tokens).subspan(first, count); };
    const auto error = [&](std::span<const TokenId> wrong) {
      return error_of([&] { transformer.forward(wrong, sequence); });
    };
    transformer.forward(part(0, 3), sequence);
    EXPECT_EQ(error(std::vector<TokenId>{1, 263}), "token 263 is outside of the vocabulary of 263");
    EXPECT_EQ(error(std::vector<TokenId>{-1}), "token -1 is outside of the vocabulary of 263");
    EXPECT_EQ(error({}), "a step takes 1 to 8 tokens, not 0");
    EXPECT_EQ(error(part(0, 9)), "a step takes 1 to 8 tokens, not 9");
    EXPECT_NE(error(part(3, 6)), "");  // more than there are pages
    EXPECT_EQ(cache.length(sequence), 3);
    const auto logits = transformer.forward(part(3, 5), sequence);
    EXPECT_LE(distance(logits, engine.exact.logits(part(0, 8)).back()), kF32Bound);
  }
}

TEST(Transformer, RefusesACacheOfAnotherModel) {
  TinyEngine engine(gemma3_model());
  const std::string refusal = "the cache is not made for the layer groups of this model";
  const auto error = [&](const KvCacheOptions& options) {
    KvCache cache(options);
    return error_of([&] { Transformer(engine.weights, cache, engine.attention_options(8)); });
  };
  const KvCacheOptions good = engine.cache_options(4, 2);
  EXPECT_EQ(error(good), "");
  KvCacheOptions wrong = good;
  ++wrong.groups[1].group.layers;
  EXPECT_EQ(error(wrong), refusal);
  wrong = good;
  wrong.groups.pop_back();
  EXPECT_EQ(error(wrong), refusal);
  wrong = good;
  ++wrong.groups[0].group.shape.window_left;
  EXPECT_EQ(error(wrong), refusal);
  wrong = good;
  wrong.groups[0].group.shape.scale = 1.0F;
  EXPECT_EQ(error(wrong), refusal);
  wrong = good;
  wrong.groups[0].group.shape.q_type = DType::bf16;
  EXPECT_EQ(error(wrong), refusal);
  std::swap(wrong.groups[0], wrong.groups[1]);
  EXPECT_EQ(error(wrong), refusal);
}

TEST(Transformer, RefusesASequenceOfAnotherCache) {
  TinyEngine engine(llama_model());
  KvCache cache(engine.cache_options(4, 2));
  KvCache another(engine.cache_options(4, 2));
  const SequenceId sequence = another.create();
  Transformer transformer(engine.weights, cache, engine.attention_options(8));
  EXPECT_NE(error_of([&] { transformer.forward(some_tokens(1), sequence); }), "");
}

TEST(Transformer, SaysOnceAGroupAndPhaseWhichBackendRuns) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  TinyEngine engine(gemma3_model());
  KvCache cache(engine.cache_options(4, 10));
  const SequenceId sequence = cache.create();
  Transformer transformer(engine.weights, cache, engine.attention_options(8, "reference"));
  const std::vector<TokenId> tokens = some_tokens(8);
  for (const int count : {8, 8, 1, 1})
    transformer.forward(std::span(tokens).first(std::size_t(count)), sequence);
  set_log_sink({});
  const char* expected[] = {"prefill", "append", "decode"};
  ASSERT_EQ(lines.size(), 6U);
  for (std::size_t phase = 0; phase < 3; ++phase) {
    const std::string runs = std::string(expected[phase]) + " -> reference";
    EXPECT_NE(lines[2 * phase].find("layers 0-4, 6 " + runs), std::string::npos)
        << lines[2 * phase];
    EXPECT_NE(lines[2 * phase + 1].find("layers 5 " + runs), std::string::npos)
        << lines[2 * phase + 1];
    EXPECT_EQ(transformer.attention()[0].log_lines()[phase], lines[2 * phase]);
    EXPECT_EQ(transformer.attention()[1].log_lines()[phase], lines[2 * phase + 1]);
  }
  EXPECT_GT(transformer.attention_seconds(), 0.0);
}

TEST(Transformer, CheckComparesRowsOfEveryGroup) {
  for (const Maths maths : {Maths::f32, Maths::blocks, Maths::bf16}) {
    if (!can_compute(maths)) continue;
    TinyEngine engine(gemma3_model(), maths);
    KvCache cache(engine.cache_options(4, 10));
    const SequenceId sequence = cache.create();
    Transformer transformer(engine.weights, cache, engine.attention_options(8));
    transformer.check_attention();
    const std::vector<TokenId> tokens = some_tokens(8);
    transformer.forward(tokens, sequence);
    for (int i = 0; i < 16; ++i) transformer.forward({tokens.data(), 1}, sequence);
    ASSERT_EQ(transformer.attention_checks().size(), 2U);
    for (const AttentionCheck& check : transformer.attention_checks()) {
      EXPECT_GE(check.rows(), 3);
      EXPECT_TRUE(check.passed()) << check.worst();
    }
  }
}

}  // namespace
}  // namespace headwise
