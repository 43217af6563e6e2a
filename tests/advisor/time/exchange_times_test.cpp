#include <gtest/gtest.h>

#include "advisor/device/hardware.h"
#include "advisor/time/device_times.h"

// Times are those of data/calibration, read there by eye.

namespace headwise {
namespace {

constexpr double kMegabyte = 1048576.0;

Exchange all_reduce(double bytes, std::int64_t devices) {
  return {.kind = Exchange::Kind::all_reduce, .bytes = bytes, .devices = devices};
}

TEST(ExchangeTimes, AllReducesAreMeasuredOnes) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  const Estimate of_eight = times.time(all_reduce(kMegabyte, 8));
  EXPECT_STREQ(of_eight.source(), "third-party");
  EXPECT_NEAR(of_eight.seconds, 25.74e-6, 1e-9);
  EXPECT_NEAR(times.time(all_reduce(kMegabyte, 2)).seconds, 5.988e-6, 1e-9);
}

TEST(ExchangeTimes, BetweenMeasuredSizesTheyAreBetweenTheirTimes) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  const Estimate between = times.time(all_reduce(1.5 * kMegabyte, 8));
  EXPECT_STREQ(between.source(), "third-party, interpolated");
  EXPECT_GT(between.seconds, times.time(all_reduce(kMegabyte, 8)).seconds);
  EXPECT_LT(between.seconds, times.time(all_reduce(2.0 * kMegabyte, 8)).seconds);
}

TEST(ExchangeTimes, WhatWasNotMeasuredIsAssumed) {
  const Hardware hardware = read_hardware("h200");
  const DeviceTimes times = device_times(hardware);
  EXPECT_STREQ(times.time(all_reduce(kMegabyte, 16)).source(), "assumed");
  EXPECT_STREQ(times.time(Exchange{Exchange::Kind::all_to_all, kMegabyte, 8}).source(), "assumed");
  const DeviceTimes slower = device_times(hardware, {}, 50e9);
  EXPECT_STREQ(slower.time(all_reduce(kMegabyte, 8)).source(), "assumed");
  EXPECT_GT(slower.time(all_reduce(kMegabyte, 8)).seconds,
            times.assumed().time(all_reduce(kMegabyte, 8)).seconds);
}

TEST(ExchangeTimes, OneDeviceHasNobodyToTell) {
  const DeviceTimes times = device_times(read_hardware("h200"));
  EXPECT_EQ(times.time(all_reduce(kMegabyte, 1)).seconds, 0.0);
}

}  // namespace
}  // namespace headwise
