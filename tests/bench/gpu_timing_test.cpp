#include "bench/gpu_timing.h"

#include <gtest/gtest.h>

#include "headwise/error.h"
#include "tests/bench/fake_gpu.h"

namespace headwise::bench {
namespace {

TEST(GpuTiming, GraphsHoldWholeRoundsOfTheCopies) {
  EXPECT_EQ(launches_in_graph(1, 10e-6), 64);   // 300 would be 3 ms: 64 rounds at most
  EXPECT_EQ(launches_in_graph(64, 5e-6), 640);  // 10 rounds of 0.32 ms
  EXPECT_EQ(launches_in_graph(2, 0.25e-3), 12);
  EXPECT_EQ(launches_in_graph(3, 0.1), 3);  // each copy once
}

TEST(GpuTiming, ATurnIsWarmUpAndTimedRuns) {
  FakeGpu gpu;
  int runs = 0;
  GpuTurns turns(gpu, Protocol::sustained, 1, [&] { ++runs, gpu.run(1e-3); });
  const Samples first = turns.take({.untimed = 0, .seconds = 0.0});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_NEAR(first[0], 1e-3, 1e-12);
  EXPECT_EQ(runs, 4);  // three to learn how long it takes
  const Samples samples = turns.take({.seconds = 0.15, .warm_up_s = 0.06});
  EXPECT_EQ(samples.size(), 150U);
  EXPECT_EQ(runs, 4 + 60 + 150);
  EXPECT_EQ(gpu.replays, 0);
  EXPECT_EQ(turns.mhz(), 1000.0);
  EXPECT_EQ(turns.take({.untimed = 1, .seconds = 0.0}).size(), 1U);
  EXPECT_EQ(runs, 4 + 60 + 150 + 2);
}

TEST(GpuTiming, SamplesAreOfSingleRuns) {
  FakeGpu gpu;
  int runs = 0;
  GpuTurns turns(gpu, Protocol::sustained, 1, [&] { gpu.run(++runs % 4 == 0 ? 5e-3 : 1e-3); });
  const Samples samples = turns.take({.seconds = 0.05});
  EXPECT_NEAR(median(samples), 1e-3, 1e-12);
  EXPECT_NEAR(*std::max_element(samples.begin(), samples.end()), 5e-3, 1e-12);
}

TEST(GpuTiming, LongRunsAreNotWarmedUp) {
  FakeGpu gpu;
  int runs = 0;
  GpuTurns turns(gpu, Protocol::sustained, 1, [&] { ++runs, gpu.run(2.0); });
  EXPECT_EQ(turns.take({.seconds = 0.0}).size(), 1U);
  EXPECT_EQ(turns.take({.seconds = 0.15, .warm_up_s = 0.06}).size(), 1U);
  EXPECT_EQ(runs, 3);  // one to learn it, one a turn
}

TEST(GpuTiming, GraphsAreReplayed) {
  FakeGpu gpu;
  std::vector<int> order;
  int next = 0;
  GpuTurns turns(gpu, Protocol::graph, 3, [&] {
    order.push_back(next);
    next = (next + 1) % 3;
    gpu.run(20e-6);
  });
  const Samples samples = turns.take({.seconds = 0.15, .warm_up_s = 0.06});
  const int launches = launches_in_graph(3, 20e-6);
  EXPECT_EQ(gpu.captured, launches);
  EXPECT_EQ(launches % 3, 0);
  EXPECT_EQ(order.size(), 3U + static_cast<std::size_t>(launches));
  EXPECT_EQ(order.back(), (2 + launches) % 3);  // the copies take turns in the graph
  EXPECT_NEAR(median(samples), 20e-6, 1e-12);
  EXPECT_NEAR(static_cast<double>(samples.size()), 0.15 / (launches * 20e-6), 1.0);
  const int replays = gpu.replays;
  turns.take({.seconds = 0.0});
  EXPECT_EQ(gpu.replays, replays + 1);
  EXPECT_EQ(order.size(), 3U + static_cast<std::size_t>(launches));
}

TEST(GpuTiming, BurstsHaveRestsAndAreSevenAtLeast) {
  FakeGpu gpu;
  const auto turns = std::make_shared<GpuTurns>(gpu, Protocol::burst, 1, [&] { gpu.run(1e-3); });
  const std::vector<TurnCall> calls{[&](const Turn& turn) { return turns->take(turn); }};
  TimingOptions options = gpu_timing();
  options.protocol = Protocol::burst;
  options.least_calls = kGpuBursts;
  const auto timings = time_calls(calls, options, [] { return false; });
  EXPECT_EQ(timings[0].samples.size(), 7U);
  EXPECT_EQ(gpu.launches, 3 + 2 * 7);
}

TEST(GpuTiming, WhatCannotBeCapturedIsAnError) {
  FakeGpu gpu;
  gpu.can_capture = false;
  GpuTurns turns(gpu, Protocol::graph, 1, [&] { gpu.run(1e-5); });
  EXPECT_THROW(turns.take({}), Error);
}

}  // namespace
}  // namespace headwise::bench
