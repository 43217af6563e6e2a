#include "bench/timing.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "headwise/error.h"

namespace headwise::bench {
namespace {

constexpr auto kNever = [] { return false; };

TurnCall turns(std::function<void()> call) { return in_turns(std::move(call), kNever); }

/// One turn on the CPU with some milliseconds of warm-up.
void turns_warm_up(int& runs) {
  turns([&] { ++runs, std::this_thread::sleep_for(std::chrono::milliseconds(2)); })(
      {.seconds = 0.001, .warm_up_s = 0.005});
}

TEST(Timing, Median) {
  EXPECT_DOUBLE_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median({4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(Timing, RoundsAlternate) {
  std::string order;
  const std::vector<TurnCall> calls{
      turns([&] { order += 'a', std::this_thread::sleep_for(std::chrono::milliseconds(120)); }),
      turns([&] { order += 'b', std::this_thread::sleep_for(std::chrono::milliseconds(120)); })};
  const auto timings =
      time_calls(calls, {.warm_up_s = 0.0, .measure_s = 0.1, .least_calls = 3}, kNever);
  EXPECT_EQ(order, "abababab");  // one warm-up, three timed ones
  ASSERT_EQ(timings[0].samples.size(), 3U);
  EXPECT_EQ(timings[0].rounds, timings[0].samples);
  EXPECT_GT(timings[0].samples[0], 0.119);
}

TEST(Timing, LongCallsAreNotRepeatedWithoutNeed) {
  int runs = 0;
  const std::vector<TurnCall> calls{
      turns([&] { ++runs, std::this_thread::sleep_for(std::chrono::milliseconds(30)); })};
  time_calls(calls, {.warm_up_s = 0.0, .measure_s = 0.001, .least_calls = 5}, kNever);
  EXPECT_LE(runs, 6);
}

TEST(Timing, BurstRestsBeforeEachCall) {
  int runs = 0;
  const std::vector<TurnCall> calls{turns([&] { ++runs; })};
  const auto start = std::chrono::steady_clock::now();
  const auto timings = time_calls(calls, {.protocol = Protocol::burst, .least_calls = 4}, kNever);
  EXPECT_EQ(timings[0].samples.size(), 4U);
  EXPECT_EQ(runs, 8);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
}

TEST(Timing, StopsBetweenCalls) {
  int runs = 0;
  const auto enough = [&] { return runs >= 5; };
  const TurnCall call = in_turns([&] { ++runs; }, enough);
  const auto timings = time_calls(std::vector{call, call}, {.warm_up_s = 0.0}, enough);
  EXPECT_LE(runs, 7);
  EXPECT_EQ(timings.size(), 2U);
}

TEST(Timing, WhoGivesUpIsNotAskedAgain) {
  int asked = 0;
  const std::vector<TurnCall> calls{[&](const Turn&) -> Samples {
                                      if (++asked > 2) return {};
                                      return {1e-6};
                                    },
                                    turns([] {})};
  const auto timings = time_calls(calls, {.warm_up_s = 0.0, .measure_s = 0.01}, kNever);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(timings[0].samples.size(), 1U);
  EXPECT_GE(timings[1].samples.size(), 5U);
}

TEST(Timing, RatiosAreOfPairedRounds) {
  const auto take = [](double seconds) {
    return [seconds](const Turn&) { return Samples{seconds, seconds}; };
  };
  const std::vector<TurnCall> calls{take(0.3), take(0.2)};
  const TimingOptions options{
      .warm_up_s = 0.0, .measure_s = 1.0, .least_calls = 1, .least_rounds = 9};
  const auto timings = time_calls(calls, options, kNever);
  EXPECT_EQ(timings[0].rounds.size(), 9U);
  EXPECT_NEAR(paired_ratio(timings[0], timings[1]), 1.5, 1e-12);
  // A disturbed pair does not count for more than one.
  EXPECT_NEAR(paired_ratio({{}, {1.0, 9.0, 1.1}}, {{}, {1.0, 1.0, 1.0}}), 1.1, 1e-12);
}

TEST(Timing, TurnsWarmUpWhereThatIsAskedFor) {
  std::vector<Turn> turns;
  const std::vector<TurnCall> calls{[&](const Turn& turn) -> Samples {
    turns.push_back(turn);
    return {0.001};
  }};
  TimingOptions options = gpu_timing();
  options.protocol = Protocol::graph;
  time_calls(calls, options, kNever);
  ASSERT_GE(turns.size(), 4U);
  EXPECT_EQ(turns[0].seconds, 0.0);  // to learn how long it takes
  for (std::size_t i = 1; i < turns.size(); ++i) {
    EXPECT_EQ(turns[i].untimed, 0);
    EXPECT_EQ(turns[i].warm_up_s, 0.06);
    EXPECT_EQ(turns[i].seconds, 0.15);
  }
  int runs = 0;
  turns_warm_up(runs);
  EXPECT_GE(runs, 2);  // one of them timed; a busy machine may take long for the other
}

TEST(Timing, TurnsOfGraphsCountByTheTurn) {
  int turns_taken = 0;
  const std::vector<TurnCall> graph{[&](const Turn&) {
    ++turns_taken;
    return Samples(50, 2e-5);  // of launches: 1 ms of what the turn took
  }};
  TimingOptions options = gpu_timing();
  options.protocol = Protocol::graph;
  time_calls(graph, options, kNever);
  EXPECT_EQ(turns_taken, 1 + 3);  // one to warm up
}

TEST(Timing, ProtocolsHaveNames) {
  EXPECT_EQ(parse_protocol("graph"), Protocol::graph);
  EXPECT_THROW(parse_protocol("steady"), Error);
}

}  // namespace
}  // namespace headwise::bench
