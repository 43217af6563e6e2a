// Rows that cuda-sm90 computes twice, because their logits left the range that wide rows count on,
// are counted; others are not.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "headwise/registry.h"
#include "headwise/version.h"
#include "tests/conformance/backend_choice.h"
#include "tests/conformance/runner.h"

namespace headwise::conformance {
namespace {

constexpr std::int32_t kTokens = 300;
constexpr std::int32_t kTile = 64;  // keys, at least
constexpr AttentionShape kShape{.q_heads = 8, .kv_heads = 2, .head_dim_qk = 128, .head_dim_v = 128};

Recipe prompt() { return {.shape = kShape, .q_lens = {kTokens}, .kv_lens = {kTokens}}; }

Recipe append() { return {.shape = kShape, .q_lens = {40}, .kv_lens = {40 + 1000}}; }

/// Logits that rise by more from tile to tile than a reference has room for.
Recipe growing_append() {
  Recipe recipe = append();
  recipe.q_spread = 4.0;
  recipe.key_growth = 100.0;
  return recipe;
}

/// A prompt whose logits with its first keys are of hundreds.
Case prompt_with_large_first_keys() {
  Case c(prompt());
  for (int head = 0; head < kShape.kv_heads; ++head)
    for (std::int32_t slot = 0; slot < kTile; ++slot) {
      const std::vector<double> key = c.key(0, head, slot);
      for (int i = 0; i < kShape.head_dim_qk; ++i)
        c.store_key(0, head, slot, i, static_cast<float>(128.0 * key[static_cast<std::size_t>(i)]));
    }
  return c;
}

class RepeatedRows : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_architectures() == "none") GTEST_SKIP() << "this build has no CUDA";
    if (!is_chosen(backend()) || !explain(backend(), Case(prompt())))
      GTEST_SKIP() << "cuda-sm90 is not to be judged, or cannot run here";
  }

  static const Backend& backend() { return Registry::builtin().find("cuda-sm90"); }

  /// Of one run, whose answer is right.
  static std::int64_t of_a_run(const Case& c) {
    Outputs outputs = own_outputs(c);
    PlannedRun run(backend(), c, outputs);
    EXPECT_EQ(run.plan().repeated_rows(), 0);
    run();
    EXPECT_EQ(fault_in(c, reference_answer(c), outputs), "");
    return run.plan().repeated_rows().value();
  }
};

TEST_F(RepeatedRows, OrdinaryStepsHaveNone) {
  EXPECT_EQ(of_a_run(Case(prompt())), 0);
  EXPECT_EQ(of_a_run(Case(append())), 0);
}

// A prompt's keys come from the diagonal backwards, so that its first ones are the last seen; new
// tokens of the first tile begin with these.
TEST_F(RepeatedRows, APromptsAreThoseThatMeetLargeLogitsLate) {
  const std::int64_t rows = of_a_run(prompt_with_large_first_keys());
  EXPECT_GT(rows, 0);
  EXPECT_LE(rows, (kTokens - kTile) * kShape.q_heads);
}

// Old keys come first, where there are any.
TEST_F(RepeatedRows, AnAppendsAreThoseWhoseLogitsGrow) {
  EXPECT_GT(of_a_run(Case(growing_append())), 0);
}

TEST_F(RepeatedRows, AddUpAndAreTheSameBits) {
  for (const Case& c : {prompt_with_large_first_keys(), Case(growing_append())}) {
    Outputs outputs = own_outputs(c);
    PlannedRun run(backend(), c, outputs);
    run();
    const std::int64_t once = run.plan().repeated_rows().value();
    const auto out = outputs.out.bits();
    const auto lse = outputs.lse.bits();
    run();
    EXPECT_EQ(run.plan().repeated_rows(), 2 * once);
    EXPECT_TRUE(outputs.out.bits() == out);
    EXPECT_TRUE(outputs.lse.bits() == lse);
  }
}

// F16's range is smaller.
TEST_F(RepeatedRows, F16sAreThoseThatGrowByMoreThanTen) {
  Recipe halves = append();
  halves.shape.q_type = halves.shape.kv_type = DType::f16;
  halves.q_spread = 0.5;  // of 41,800 logits with a spread of 1 some grow by more
  EXPECT_EQ(of_a_run(Case(halves)), 0);
  halves.q_spread = 4.0;
  halves.key_growth = 20.0;
  EXPECT_GT(of_a_run(Case(halves)), 0);
}

TEST_F(RepeatedRows, FewRowsCountOnNothing) {
  Recipe decode = growing_append();
  decode.q_lens = {1};
  EXPECT_EQ(of_a_run(Case(decode)), 0);
}

}  // namespace
}  // namespace headwise::conformance
