#include "advisor/device/calibration_grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/error_of.h"

namespace headwise {
namespace {

const std::vector<GridAxis> kBatchAndLength{{"batch", "requests"}, {"length", "tokens"}};

/// 3 b^0.9 l^1.7: a plane in logarithms, which interpolation must meet exactly.
double plane(double batch, double length) {
  return 3 * std::pow(batch, 0.9) * std::pow(length, 1.7);
}

CalibrationGrid grid_of(double (*time)(double, double)) {
  std::vector<MeasuredPoint> points;
  for (const double batch : {8.0, 1.0, 2.0, 4.0})
    for (const double length : {1024.0, 128.0, 256.0, 512.0})
      points.push_back({{batch, length}, time(batch, length)});
  return {kBatchAndLength, points};
}

CalibrationGrid line_of(std::vector<MeasuredPoint> points, bool is_log = true) {
  return {{{"length", "tokens", is_log}}, std::move(points)};
}

TEST(CalibrationGrid, MeasuredPointsAreGivenBack) {
  const CalibrationGrid grid = grid_of(plane);
  const GridEstimate found = grid.estimate({4, 256}, {});
  EXPECT_EQ(found.basis, Basis::measured);
  EXPECT_DOUBLE_EQ(found.microseconds, plane(4, 256));
  EXPECT_EQ(found.error, 0.0);
  ASSERT_EQ(found.of.size(), 1U);
  EXPECT_EQ(found.of[0]->at, (std::vector<double>{4, 256}));
}

TEST(CalibrationGrid, PowerLawsAreInterpolatedExactly) {
  for (const double batch : {1.0, 1.5, 3.0, 7.9})
    for (const double length : {130.0, 300.0, 1023.0}) {
      const GridEstimate found = grid_of(plane).estimate({batch, length}, {});
      EXPECT_EQ(found.basis, Basis::interpolated);
      EXPECT_NEAR(found.microseconds / plane(batch, length), 1.0, 1e-12);
      EXPECT_NEAR(found.error, 0.0, 1e-12);
      EXPECT_EQ(found.of.size(), batch == 1.0 ? 2U : 4U);
    }
}

TEST(CalibrationGrid, BetweenPointsByHand) {
  // Half of the way in logarithms: the geometric mean of 10 and 40, and of 20 and 160.
  const CalibrationGrid grid(kBatchAndLength,
                             {{{1, 100}, 10}, {{1, 400}, 40}, {{4, 100}, 20}, {{4, 400}, 160}});
  EXPECT_NEAR(grid.estimate({1, 200}, {}).microseconds, 20, 1e-9);
  EXPECT_NEAR(grid.estimate({4, 200}, {}).microseconds, std::sqrt(20.0 * 160), 1e-9);
  EXPECT_NEAR(grid.estimate({2, 200}, {}).microseconds, std::sqrt(20 * std::sqrt(3200.0)), 1e-9);
}

TEST(CalibrationGrid, LinearAxesMayBeginAtNought) {
  const CalibrationGrid grid = line_of({{{0}, 10}, {{100}, 30}, {{200}, 50}}, false);
  EXPECT_DOUBLE_EQ(grid.estimate({0}, {}).microseconds, 10);
  EXPECT_DOUBLE_EQ(grid.estimate({25}, {}).microseconds, 15);
  EXPECT_DOUBLE_EQ(grid.estimate({25}, {}).error, 0);
}

TEST(CalibrationGrid, ErrorsAreThoseOfLeavingNeighboursOut) {
  // Between 2 and 4. Without (2, 20) the line from (1, 10) to (4, 80) says 28.28 there; without
  // (4, 80) the line from (2, 20) to (8, 160) says 56.57.
  const CalibrationGrid grid = line_of({{{1}, 10}, {{2}, 20}, {{4}, 80}, {{8}, 160}});
  const GridEstimate found = grid.estimate({3}, {});
  const double low = std::sqrt(10.0 * 80) / 20 - 1, high = 1 - std::sqrt(20.0 * 160) / 80;
  EXPECT_NEAR(found.error, std::max(low, high), 1e-12);
}

TEST(CalibrationGrid, ErrorsOfTwoPointsAreHalfTheWay) {
  const CalibrationGrid grid = line_of({{{1}, 10}, {{4}, 40}});
  EXPECT_NEAR(grid.estimate({2}, {}).error, std::log(4.0) / 2, 1e-12);
}

TEST(CalibrationGrid, ErrorsOfAxesAddAsSquares) {
  // Both axes bend by themselves, and times multiply: each axis errs as it would alone.
  const std::vector<double> batches{10, 20, 80, 160}, lengths{5, 10, 30, 90};
  std::vector<MeasuredPoint> points;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      points.push_back({{1.0 * (1 << i), 1.0 * (1 << j)}, batches[i] * lengths[j]});
  const CalibrationGrid grid(kBatchAndLength, points);
  const double batch = grid.estimate({3, 2}, {}).error, length = grid.estimate({2, 3}, {}).error;
  EXPECT_GT(batch, 0.1);
  EXPECT_GT(length, 0.05);
  EXPECT_NEAR(grid.estimate({3, 3}, {}).error, std::hypot(batch, length), 1e-9);
}

double square(const std::vector<double>& at) { return at.back() * at.back(); }

TEST(CalibrationGrid, OutsideTimesFollowTheLaw) {
  const CalibrationGrid grid = line_of({{{1024}, 10}, {{2048}, 40}, {{4096}, 160}});
  const GridEstimate found = grid.estimate({16384}, square);
  EXPECT_EQ(found.basis, Basis::extrapolated);
  EXPECT_DOUBLE_EQ(found.microseconds, 160 * 16);
  EXPECT_NEAR(found.error, 0.05 * 4, 1e-12);  // the law held: 5% a doubling of the work
  EXPECT_EQ(found.of.size(), 1U);
  EXPECT_DOUBLE_EQ(grid.estimate({512}, square).microseconds, 2.5);
}

TEST(CalibrationGrid, ALawThatDidNotHoldWidensTheError) {
  // The last doubling took 3 times the time, not 4; two more doublings may lose (4/3)^2.
  const CalibrationGrid grid = line_of({{{2048}, 40}, {{4096}, 120}});
  EXPECT_NEAR(grid.estimate({16384}, square).error, 16.0 / 9 - 1, 1e-12);
}

TEST(CalibrationGrid, OutsideIsWiderThanInside) {
  constexpr auto bent = [](double b, double l) { return 20 + plane(b, l) / 1000; };
  const CalibrationGrid grid = grid_of(bent);
  const double inside = grid.estimate({3, 700}, {}).error;
  EXPECT_GT(grid.estimate({3, 8192}, square).error, inside);
}

TEST(CalibrationGrid, OutsideOfTwoAxesFollowsTheLawOfBoth) {
  const auto law = [](const std::vector<double>& at) { return at[0] * at[1] * at[1]; };
  const GridEstimate found = grid_of(plane).estimate({32, 4096}, law);
  EXPECT_NEAR(found.microseconds / (plane(8, 1024) * 4 * 16), 1.0, 1e-12);
}

TEST(CalibrationGrid, EachSliceHasItsOwnRange) {
  // Two requests were not measured at 4096: between one and two, half comes from the law.
  const CalibrationGrid grid(kBatchAndLength,
                             {{{1, 1024}, 10}, {{1, 4096}, 160}, {{2, 1024}, 20}, {{2, 2048}, 80}});
  EXPECT_EQ(grid.estimate({1, 3000}, square).basis, Basis::interpolated);
  const GridEstimate found = grid.estimate({std::sqrt(2.0), 4096}, square);
  EXPECT_EQ(found.basis, Basis::extrapolated);
  EXPECT_NEAR(found.microseconds, std::sqrt(160.0 * 320), 1e-9);
}

TEST(CalibrationGrid, WithoutALawThereIsNothingOutside) {
  const GridEstimate found = line_of({{{1024}, 10}, {{2048}, 40}}).estimate({4096}, {});
  EXPECT_EQ(found.why_not,
            "length 4096 is outside of what was measured (the nearest is 2048), and no scaling law "
            "is given");
}

TEST(CalibrationGrid, LawsMustBePositive) {
  const auto nought = [](const std::vector<double>&) { return 0.0; };
  EXPECT_EQ(error_of([&] {
              line_of({{{1024}, 10}}).estimate({4096}, nought);
            }),
            "the scaling law gives 0 at length 1024");
}

TEST(CalibrationGrid, PlacesAreMeasuredOnce) {
  EXPECT_EQ(error_of([] { line_of({}); }), "holds no points");
  EXPECT_EQ(error_of([] { line_of({{{1}, 10}, {{1}, 11}}); }), "holds two points at one place");
}

}  // namespace
}  // namespace headwise
