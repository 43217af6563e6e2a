// The suite judges backends on a GPU as it does on the CPU: tried out on a GPU that is none.

#include "tests/cuda/fake_gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "headwise/registry.h"
#include "tests/conformance/append_case.h"
#include "tests/conformance/runner.h"
#include "tests/conformance/suite.h"
#include "tests/cuda/append_replays.h"
#include "tests/cuda/replays.h"

namespace headwise::conformance {
namespace {

const Backend& cpu() { return Registry::builtin().find("cpu-portable"); }

TEST(FakeGpu, MeetsTheBoundsAsTheProcessorDoes) {
  const FakeGpu good(cpu());
  Suite suite({.seed = 3, .cases = 250});
  suite.run({&good, &cpu()});
  const Tally& gpu = suite.tallies()[0];
  for (const std::string& failure : gpu.failures) ADD_FAILURE() << failure;
  EXPECT_EQ(gpu.computed, suite.tallies()[1].computed);
  EXPECT_EQ(gpu.refused, suite.tallies()[1].refused);
  EXPECT_GT(gpu.computed, 200);
}

TEST(FakeGpu, GivesTheProcessorsBits) {
  const FakeGpu good(cpu());
  Recipe recipe{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim_qk = 64, .head_dim_v = 64},
                .q_lens = {3, 0, 1},
                .kv_lens = {50, 9, 33}};
  for (const Memory memory : {Memory::dense, Memory::swapped, Memory::padded}) {
    recipe.k_memory = recipe.q_memory = recipe.out_memory = recipe.lse_memory = memory;
    recipe.v_beside_k = memory == Memory::padded;
    const Case c(recipe);
    Outputs on_gpu = own_outputs(c);
    run(good, c, on_gpu);
    Outputs on_cpu = own_outputs(c);
    run(cpu(), c, on_cpu);
    EXPECT_EQ(difference(on_gpu, on_cpu), "");
  }
}

TEST(FakeGpu, AppendsTheProcessorsBits) {
  const FakeGpu good(cpu());
  for (std::uint64_t i = 0; i < 100; ++i) {
    Rng rng(5, i);
    const AppendCase c(random_append(rng));
    std::uint64_t expected_count = 0;
    std::uint64_t count = 0;
    const Cache expected = c.expected(expected_count);
    Cache got = c.cache();
    c.append(good, got, &count);
    EXPECT_EQ(difference(got, expected), "") << to_string(c.recipe());
    EXPECT_EQ(count, expected_count);
  }
}

TEST(FakeGpu, AppendsForOtherLengthsOnTheDevice) {
  expect_appends_for_other_lengths(
      FakeGpu(cpu()), [](const auto& launches) { return [launches] { launches(nullptr); }; });
}

TEST(FakeGpu, EachTensorMayHaveMemoryOfItsOwn) {
  ::setenv("HEADWISE_EXACT_MEMORY", "1", 1);
  const FakeGpu good(cpu());
  Suite suite({.seed = 4, .cases = 60});
  suite.run({&good});
  ::unsetenv("HEADWISE_EXACT_MEMORY");
  for (const std::string& failure : suite.tallies()[0].failures) ADD_FAILURE() << failure;
  EXPECT_GT(suite.tallies()[0].computed, 50);
}

TEST(FakeGpu, WritesBesideItsMemoryAreSeen) {
  for (const Flaw flaw :
       {Flaw::writes_before_out, Flaw::writes_behind_out, Flaw::writes_behind_workspace}) {
    const FakeGpu bad(cpu(), flaw);
    Suite suite({.seed = 1, .cases = 6});
    suite.run({&bad});
    const Tally& tally = suite.tallies()[0];
    EXPECT_EQ(static_cast<std::int64_t>(tally.failures.size()), tally.computed);
    for (const std::string& failure : tally.failures)
      EXPECT_NE(failure.find("wrote be"), std::string::npos) << failure;
  }
}

TEST(FakeGpu, ABrokenGpuEndsTheRunWithTheCasesName) {
  const FakeGpu broken(cpu(), Flaw::breaks);
  Suite suite({.seed = 1, .cases = 6});
  suite.run({&broken, &cpu()});
  ASSERT_EQ(suite.tallies()[0].failures.size(), 1U);
  const std::string& failure = suite.tallies()[0].failures[0];
  EXPECT_EQ(failure.find("HEADWISE_CASE=1:0 fake-gpu: the GPU failed, and no later case can run"),
            0U)
      << failure;
  EXPECT_EQ(suite.tallies()[1].computed, 0);
}

TEST(FakeGpu, StepsComeThroughFixedBuffers) {
  const FakeGpu good(cpu());
  const Capture none = [](Plan& plan, const RunArgs& args) {
    return [&plan, args] { plan.run(args); };
  };
  expect_replays_for_other_steps(good, none, false);
  expect_lengths_from_the_device(good, none);
}

TEST(FakeGpu, ShardsShareTheCasesOfOneRun) {
  const FakeGpu good(cpu());
  std::int64_t computed = 0;
  for (const std::int64_t shard : {0, 1, 2}) {
    Suite suite({.seed = 1, .cases = 30, .shard = shard, .shards = 3});
    suite.run({&good});
    computed += suite.tallies()[0].computed;
  }
  Suite whole({.seed = 1, .cases = 30});
  whole.run({&good});
  EXPECT_EQ(computed, whole.tallies()[0].computed);
}

}  // namespace
}  // namespace headwise::conformance
