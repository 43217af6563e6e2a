#include "bench/timing.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "headwise/error.h"

namespace headwise::bench {
namespace {

constexpr auto kNever = [] { return false; };

TEST(Timing, Median) {
  EXPECT_DOUBLE_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median({4.0, 1.0, 2.0, 3.0}), 2.5);
}

TEST(Timing, RoundsAlternate) {
  std::string order;
  const std::vector<std::function<void()>> calls{
      [&] { order += 'a', std::this_thread::sleep_for(std::chrono::milliseconds(120)); },
      [&] { order += 'b', std::this_thread::sleep_for(std::chrono::milliseconds(120)); }};
  const auto samples =
      time_calls(calls, {.warm_up_s = 0.0, .measure_s = 0.1, .least_calls = 3}, kNever);
  EXPECT_EQ(order, "abababab");  // one warm-up, three timed ones
  ASSERT_EQ(samples[0].size(), 3U);
  EXPECT_GT(samples[0][0], 0.119);
}

TEST(Timing, LongCallsAreNotRepeatedWithoutNeed) {
  int runs = 0;
  const std::vector<std::function<void()>> calls{
      [&] { ++runs, std::this_thread::sleep_for(std::chrono::milliseconds(30)); }};
  time_calls(calls, {.warm_up_s = 0.0, .measure_s = 0.001, .least_calls = 5}, kNever);
  EXPECT_LE(runs, 6);
}

TEST(Timing, BurstRestsBeforeEachCall) {
  int runs = 0;
  const std::vector<std::function<void()>> calls{[&] { ++runs; }};
  const auto start = std::chrono::steady_clock::now();
  const auto samples = time_calls(calls, {.protocol = Protocol::burst, .least_calls = 4}, kNever);
  EXPECT_EQ(samples[0].size(), 4U);
  EXPECT_EQ(runs, 8);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
}

TEST(Timing, StopsBetweenCalls) {
  int runs = 0;
  const std::vector<std::function<void()>> calls{[&] { ++runs; }, [&] { ++runs; }};
  const auto samples = time_calls(calls, {.warm_up_s = 0.0}, [&] { return runs >= 5; });
  EXPECT_LE(runs, 6);
  EXPECT_EQ(samples.size(), 2U);
}

TEST(Timing, GraphsAreNotPossible) {
  try {
    time_calls({}, {.protocol = Protocol::graph}, kNever);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_possible);
  }
  EXPECT_EQ(parse_protocol("graph"), Protocol::graph);
  EXPECT_THROW(parse_protocol("steady"), Error);
}

}  // namespace
}  // namespace headwise::bench
