#include "bench/goals.h"

#include <gtest/gtest.h>

#include "attention/shape_spec.h"
#include "cpu/reference.h"
#include "cpu/standard.h"
#include "headwise/error.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/fake_backends.h"
#include "tests/bench/fake_peer.h"

namespace headwise::bench {
namespace {

Machine machine_with(bool amx) {
  Machine machine;
  machine.cpu.amx_bf16 = amx;
  return machine;
}

TEST(Goals, EveryRowIsWorkWithATarget) {
  constexpr auto kCpu = DeviceType::cpu;
  for (const auto& goals :
       {goals_for(machine_with(false), 2, kCpu), goals_for(machine_with(true), 16, kCpu),
        goals_for(machine_with(false), 2, DeviceType::cuda)}) {
    EXPECT_FALSE(goals.empty());
    for (const Goal& goal : goals) {
      EXPECT_NO_THROW(parse_shape_spec(goal.shape));
      EXPECT_NE(goal.targets[0].against, Against::nothing) << goal.shape;
      const WorkloadOptions options{
          .contexts = {goal.context}, .new_tokens = {goal.new_tokens}, .batch = goal.batch};
      EXPECT_NO_THROW(parse_lens(goal.lens));
      EXPECT_EQ(make_workloads(goal.suite, options).size(), goal.suite == Suite::paged ? 2U : 1U);
    }
  }
  // Sixteen cores are meant where AMX is.
  EXPECT_EQ(goals_for(machine_with(true), 2, kCpu).data(),
            goals_for(machine_with(false), 16, kCpu).data());
}

Judged judged(Target target, const GoalEvidence& evidence) {
  return judge({.shape = "q1:kv1:d8", .targets = {target}}, evidence).at(0);
}

TEST(Goals, AreJudgedByWhatTheyName) {
  const GoalEvidence evidence{.seconds = 2.0,
                              .flops_per_s = 6e11,
                              .bytes_per_s = 4e10,
                              .fastest_peer_s = 3.0,
                              .paged_peer_s = 8.0,
                              .pytorch_s = 5.0,
                              .flash2_s = 4.0,
                              .vllm_s = 2.5,
                              .time_ratio = 0.7,
                              .gemm = 5e11,
                              .dot = 8e11,
                              .fma = 1.2e12,
                              .read = 8e10,
                              .group = 8};
  const auto measured = [&](Against against) { return *judged({against, 1.0}, evidence).measured; };
  EXPECT_DOUBLE_EQ(measured(Against::fastest_peer), 1.5);
  EXPECT_DOUBLE_EQ(measured(Against::pytorch), 2.5);
  EXPECT_DOUBLE_EQ(measured(Against::flash2), 2.0);
  EXPECT_DOUBLE_EQ(measured(Against::contiguous), 1.0 / 0.7);
  EXPECT_DOUBLE_EQ(measured(Against::dot), 0.75);
  EXPECT_DOUBLE_EQ(measured(Against::fma), 0.5);
  EXPECT_DOUBLE_EQ(measured(Against::read), 0.5);
  EXPECT_DOUBLE_EQ(measured(Against::read_or_dot), 0.8);  // 0.5 * 8e11 / 8 binds
  EXPECT_DOUBLE_EQ(measured(Against::bf16), 0.7);
  EXPECT_DOUBLE_EQ(measured(Against::gemm), 1.2);
  EXPECT_DOUBLE_EQ(measured(Against::window), 0.7);
  EXPECT_DOUBLE_EQ(measured(Against::unshared), 0.7);
  EXPECT_DOUBLE_EQ(measured(Against::plain), 0.7);
  EXPECT_DOUBLE_EQ(measured(Against::peer_time), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(measured(Against::paged_time), 0.25);
  EXPECT_DOUBLE_EQ(measured(Against::vllm_time), 0.8);
  EXPECT_DOUBLE_EQ(measured(Against::microseconds), 2e6);
  EXPECT_FALSE(*judged({Against::microseconds, 1e6}, evidence).met());
  EXPECT_TRUE(*judged({Against::dot, 0.75}, evidence).met());
  EXPECT_FALSE(*judged({Against::dot, 0.76}, evidence).met());
  EXPECT_TRUE(*judged({Against::bf16, 0.7}, evidence).met());
  EXPECT_FALSE(*judged({Against::bf16, 0.6}, evidence).met());
  EXPECT_FALSE(*judged({Against::plain, 0.6}, evidence).met());
}

TEST(Goals, WithoutABoundAreShownAndNotJudged) {
  const Judged shown = judged({Against::plain, 0.0}, {.seconds = 1.0, .time_ratio = 1.25});
  EXPECT_EQ(shown.what, "x time without outliers");
  EXPECT_EQ(shown.measured, 1.25);
  EXPECT_FALSE(shown.met());
  EXPECT_TRUE(judge({.shape = "q1:kv1:d8", .targets = {}}, {}).empty());
}

TEST(Goals, WhatTheRunLacksIsNotMeasured) {
  for (const Against against :
       {Against::fastest_peer, Against::pytorch, Against::dot, Against::fma, Against::read,
        Against::parts, Against::flash2, Against::contiguous, Against::gemm, Against::window,
        Against::unshared, Against::plain, Against::peer_time, Against::paged_time,
        Against::vllm_time, Against::microseconds}) {
    const Judged result = judged({against, 1.0}, {});
    EXPECT_FALSE(result.measured) << result.what;
    EXPECT_FALSE(result.met());
  }
}

TEST(Goals, ARunPutsThemBesideItsRows) {
  static constexpr Goal kGoals[] = {
      {"q4:kv2:d16",
       Suite::decode,
       64,
       1,
       1,
       {{Against::fastest_peer, 1e-9}, {Against::read, 1e9}}},
      {"q4:kv2:d16:i8", Suite::decode, 64, 1, 1, {{Against::bf16, 1e9}}},
      {"q4:kv2:d16", Suite::mixed, 64, 1, 2, {{Against::parts, 1e-9}}, "even", 3},
      {"q4:kv2:d16", Suite::paged, 64, 1, 1, {{Against::contiguous, 1e-9}}},
  };
  const FakeBackend backend("fake", FakeBackend::Fault::none);
  const Registry registry({&backend, &standard_backend(), &reference_backend()});
  BenchOptions options = short_options();
  options.suites = {Suite::goals};
  options.goals = kGoals;
  options.peers = {fake_peer()};
  const BenchReport report = run_bench(options, registry, this_machine());
  std::vector<std::vector<Judged>> goals;
  for (const Row& row : report.rows)
    if (!row.goals.empty()) goals.push_back(row.goals);
  ASSERT_EQ(goals.size(), 4U);
  EXPECT_EQ(report.rows[0].backend, "fake");
  ASSERT_EQ(goals[0].size(), 2U);
  EXPECT_TRUE(*goals[0][0].met());
  EXPECT_FALSE(*goals[0][1].met());
  EXPECT_TRUE(*goals[1][0].met());
  EXPECT_FALSE(*goals[2][0].met());
  EXPECT_TRUE(*goals[3][0].met());
  EXPECT_EQ(report.rows[2].shape, "q4:kv2:d16:i8");
  EXPECT_EQ(report.rows[3].shape, "q4:kv2:d16");  // the twin
  for (const Row& row : report.rows) {
    if (row.suite == "mixed") {
      EXPECT_EQ(row.batch, 5);
    }
    if (row.suite != "paged") continue;
    EXPECT_EQ(row.q_len, 1);
    EXPECT_EQ(row.goals.size(), !row.peer && row.page == 16 ? 1U : 0U);
  }
}

/// Runs goals of steps that are compared with others of our own.
BenchReport run_goals(std::span<const Goal> goals, const std::string& only) {
  const FakeBackend backend("fake", FakeBackend::Fault::none);
  const Registry registry({&backend, &standard_backend(), &reference_backend()});
  BenchOptions options = short_options();
  options.suites = {Suite::goals};
  options.goals = goals;
  options.only = only;
  return run_bench(options, registry, this_machine());
}

constexpr Goal kTwins[] = {
    {"q4:kv2:d16:w32", Suite::decode, 128, 1, 2, {{Against::window, 1e9}}},
    {"q4:kv2:d16", Suite::decode, 128, 1, 3, {{Against::unshared, 1e9}}, "even", 1, 96},
    {"q4:kv2:d16", Suite::paged, 64, 64, 2, {{Against::contiguous, 1e-9}}},
    {"q4:kv2:d16", Suite::prefill, 64, 1, 1, {{Against::plain, 0.0}}, "even", 1, 0, 5},
};

TEST(Goals, StandBesideTheOtherStepThatTheyName) {
  const BenchReport report = run_goals(kTwins, "");
  ASSERT_EQ(report.rows.size(), 2U + 2U + 3U + 2U);
  EXPECT_FALSE(report.wrong);
  for (const Row& row : report.rows) EXPECT_TRUE(row.ms) << row.note;
  EXPECT_EQ(report.rows[0].kv_len, 128);
  EXPECT_EQ(report.rows[1].kv_len, 32);
  EXPECT_EQ(report.rows[1].shape, "q4:kv2:d16");
  EXPECT_TRUE(*report.rows[0].goals.at(0).met());
  EXPECT_EQ(report.rows[2].lens, "even, prefix 96");
  EXPECT_EQ(report.rows[3].lens, "even");
  EXPECT_NE(report.rows[2].note.find("requests that share nothing"), std::string::npos);
  EXPECT_TRUE(*report.rows[2].goals.at(0).met());
  for (int i = 4; i < 7; ++i) EXPECT_EQ(report.rows[static_cast<std::size_t>(i)].q_len, 64);
  const Row& outliers = report.rows[7];
  EXPECT_EQ(outliers.outliers, 5);
  EXPECT_EQ(report.rows[8].outliers, 0);
  EXPECT_NE(outliers.note.find("x the time of the same step without outliers"), std::string::npos);
  EXPECT_TRUE(outliers.goals.at(0).measured);
  EXPECT_FALSE(outliers.goals.at(0).met());
}

TEST(Goals, APartCanBeChosen) {
  EXPECT_EQ(to_string(kTwins[1]), "decode q4:kv2:d16 128 batch 3 prefix 96");
  EXPECT_EQ(to_string(kTwins[2]), "paged q4:kv2:d16 64 new 64 batch 2");
  EXPECT_EQ(to_string(kTwins[3]), "prefill q4:kv2:d16 64 outliers 5");
  EXPECT_EQ(run_goals(kTwins, "decode.*prefix").rows.size(), 2U);
  EXPECT_EQ(run_goals(kTwins, "paged").rows.size(), 3U);
  EXPECT_THROW(run_goals(kTwins, "append"), Error);
}

}  // namespace
}  // namespace headwise::bench
