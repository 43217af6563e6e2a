// The backend that was asked for runs; same inputs, same bits; updated plans equal fresh ones.

#include <gtest/gtest.h>

#include "headwise/registry.h"
#include "tests/conformance/every_backend.h"

namespace headwise::conformance {
namespace {

Recipe large_f32() {
  return {.shape = {.q_heads = 8,
                    .kv_heads = 2,
                    .head_dim_qk = 96,
                    .head_dim_v = 96,
                    .q_type = DType::f32,
                    .kv_type = DType::f32},
          .q_lens = {40, 1, 9},
          .kv_lens = {40, 300, 111}};
}

/// Steps of one shape that fit into one capacity.
std::vector<Recipe> steps_of_one_shape() {
  Recipe a{.shape = {.q_heads = 6,
                     .kv_heads = 2,
                     .head_dim_qk = 64,
                     .head_dim_v = 40,
                     .window_left = 50,
                     .sinks = true},
           .q_lens = {17, 0, 1, 4},
           .kv_lens = {17, 30, 200, 60}};
  a.options.capacity = {.requests = 6, .tokens = 64, .q_len = 40, .kv_len = 256};
  Recipe b = a;
  b.q_lens = {1, 1, 2, 1, 1, 0};  // mixed as well: a backend may choose its row by the phase
  b.kv_lens = {1, 16, 17, 256, 0, 0};
  b.seed = 2;
  Recipe c = a;
  c.q_lens = {40};
  c.kv_lens = {40};
  c.q_start = {7};
  c.wants_lse = false;
  c.seed = 3;
  return {a, b, c};
}

Outputs fresh_answer(const Backend& backend, const Case& c) {
  Outputs outputs = own_outputs(c);
  run(backend, c, outputs);
  return outputs;
}

TEST(Plan, AForcedBackendIsTheOneThatRuns) {
  const Case c(large_f32());
  const Registry& registry = Registry::builtin();
  Outputs outputs = own_outputs(c);
  auto problem = problem_of(c.shape(), c.step(outputs.out, outputs.lse), {});
  const Outputs reference = fresh_answer(registry.find("reference"), c);
  for_each_able_backend(c, [&](const Backend& backend) {
    problem.device = device_for(backend);
    const Choice choice = registry.choose(problem, this_machine(), backend.name());
    EXPECT_EQ(choice.backend, &backend);
    EXPECT_TRUE(choice.forced);
    EXPECT_EQ(PlannedRun(*choice.backend, c, outputs).plan().backend(), backend.name());
    // Sums in another order and precision: not one bit pattern in thousands of f32 outputs.
    const bool same = difference(reference, fresh_answer(*choice.backend, c)).empty();
    EXPECT_EQ(same, backend.name() == "reference");
  });
}

TEST(Plan, SameInputsSamePlanSameBits) {
  for (Recipe recipe : steps_of_one_shape()) {
    const Case c(recipe);
    for_each_able_backend(c, [&](const Backend& backend) {
      Outputs outputs = own_outputs(c);
      PlannedRun planned(backend, c, outputs);
      planned();
      const Outputs fresh = fresh_answer(backend, c);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(difference(outputs, fresh), "");
        planned();
      }
    });
  }
}

TEST(Plan, AnUpdatedPlanEqualsAFreshOne) {
  const auto recipes = steps_of_one_shape();
  const Case first(recipes[0]);
  for_each_able_backend(first, [&](const Backend& backend) {
    Outputs outputs = own_outputs(first);
    PlannedRun planned(backend, first, outputs);
    Workspace workspace(backend, planned.plan().workspace_bytes());
    int compared = 0;
    for (const std::size_t next : {1, 2, 0, 2, 1, 0}) {
      const Case c(recipes[next]);
      Outputs got = own_outputs(c);
      PlacedStep placed(backend, c.shape(), c.step(got.out, got.lse), c.kv(), c.args());
      planned.plan().update(placed.step());
      const auto binding = backend.bind(c.shape(), placed.kv(), c.recipe().layout);
      placed.run(planned.plan(), *binding, workspace);
      Outputs fresh = own_outputs(c);
      PlannedRun fresh_run(backend, c, fresh);
      fresh_run();
      if (fresh_run.plan().row() != planned.plan().row()) continue;
      EXPECT_EQ(difference(got, fresh), "") << "step " << next;
      ++compared;
    }
    EXPECT_GE(compared, 4);  // the mixed steps at least
  });
}

TEST(Plan, TheCallersVectorsMayGoAfterPlanning) {
  const Case c(large_f32());
  for_each_able_backend(c, [&](const Backend& backend) {
    Outputs got = own_outputs(c);
    StepBatch step = c.step(got.out, got.lse);
    auto q_lens = c.recipe().q_lens;
    auto kv_lens = c.recipe().kv_lens;
    step.q_lens = q_lens;
    step.kv_lens = kv_lens;
    PlacedStep placed(backend, c.shape(), step, c.kv(), c.args());
    const auto plan = backend.plan(c.shape(), placed.step(), c.recipe().options);
    q_lens.assign(q_lens.size(), 1 << 30);
    kv_lens.assign(kv_lens.size(), -5);
    const auto binding = backend.bind(c.shape(), placed.kv(), c.recipe().layout);
    Workspace workspace(backend, plan->workspace_bytes());
    placed.run(*plan, *binding, workspace);
    EXPECT_EQ(difference(got, fresh_answer(backend, c)), "");
  });
}

TEST(Plan, RunArgumentsReplaceTheStepsBuffers) {
  const Case c(large_f32());
  Case other(large_f32());
  for_each_able_backend(c, [&](const Backend& backend) {
    const Outputs expected = fresh_answer(backend, c);
    Outputs steps = own_outputs(c);
    Outputs got = own_outputs(c);
    StepBatch step = c.step(steps.out, steps.lse);
    const void* q = step.q.data;
    for (std::int64_t i = 0; i < c.recipe().tokens() * 8 * 96; ++i) other.q().store(i, 0.0F);
    step.q.data = other.q().view().data;
    RunArgs args = c.args();
    args.q = q;
    args.out = got.out.mutable_view().data;
    args.lse = static_cast<float*>(got.lse.mutable_view().data);
    run_step(backend, c.shape(), step, c.kv(), args);
    EXPECT_EQ(difference(got, expected), "");
    EXPECT_EQ(difference(steps, own_outputs(c)), "") << "the step's own buffers were written";
  });
}

TEST(Plan, StepsWithoutTokensOrRequestsWriteNothing) {
  for (const std::int32_t requests : {0, 3}) {
    Recipe recipe = large_f32();
    recipe.q_lens.assign(static_cast<std::size_t>(requests), 0);
    recipe.kv_lens.assign(static_cast<std::size_t>(requests), 33);
    const Case c(recipe);
    for_each_able_backend(c, [&](const Backend& backend) {
      Outputs outputs = own_outputs(c);
      EXPECT_NO_THROW(run(backend, c, outputs));
    });
  }
}

}  // namespace
}  // namespace headwise::conformance
