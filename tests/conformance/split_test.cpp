// Contexts long enough for their keys to be shared out among threads, and merged.

#include <gtest/gtest.h>

#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

/// One long context beside short ones.
std::vector<Recipe> long_contexts() {
  const AttentionShape causal{.q_heads = 3,
                              .kv_heads = 1,
                              .head_dim_qk = 24,
                              .head_dim_v = 40,
                              .q_type = DType::f32,
                              .kv_type = DType::f32};
  Recipe decode{.shape = causal, .q_lens = {1, 1, 2}, .kv_lens = {5, 3001, 70}};
  decode.q_spread = 2.0;  // the parts' largest logits differ
  Recipe rows = decode;
  rows.shape.q_type = rows.shape.kv_type = DType::bf16;
  rows.shape.q_heads = 8;
  rows.shape.kv_heads = 2;
  rows.shape.sinks = true;
  rows.q_lens = {9};
  rows.kv_lens = {2500};
  Recipe window = decode;
  window.shape.window_left = 1800;
  // Pages of later text first, so that the first parts hold nothing that a row sees.
  Recipe unseen = decode;
  unseen.page_size = 64;
  unseen.q_lens = {2};
  unseen.kv_lens = {3000};
  unseen.q_start = {1500};
  unseen.page_pos.resize(1);
  for (int page = 0; page < unseen.pages_of(0); ++page)
    unseen.page_pos[0].push_back(page < 25 ? 5000 + 64 * page : 64 * (page - 25));
  return {decode, rows, window, unseen};
}

TEST(Splits, MeetTheBoundsWithAnyNumberOfThreads) {
  for (Recipe recipe : long_contexts())
    for (const int threads : {1, 2, 3}) {
      recipe.options.threads = threads;
      const Case c(recipe);
      const Outputs exact = reference_answer(c);
      for_each_able_backend(c, [&](const Backend& backend) {
        Outputs got = own_outputs(c);
        run(backend, c, got);
        EXPECT_EQ(fault_in(c, exact, got), "") << threads << " threads";
      });
    }
}

TEST(Splits, ChangeNoBitWithBatchInvariance) {
  Recipe recipe = long_contexts()[0];
  recipe.q_lens = {1};
  recipe.kv_lens = {9000};
  recipe.options.batch_invariant = true;
  const Case alone(recipe);
  const Outputs exact = reference_answer(alone);
  recipe.options.threads = 3;
  const Case split(recipe);
  for_each_able_backend(alone, [&](const Backend& backend) {
    Outputs one = own_outputs(alone);
    run(backend, alone, one);
    EXPECT_EQ(fault_in(alone, exact, one), "");
    Outputs three = own_outputs(split);
    run(backend, split, three);
    EXPECT_EQ(difference(one, three), "");
  });
}

}  // namespace
}  // namespace headwise::conformance
