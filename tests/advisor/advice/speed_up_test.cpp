#include "advisor/advice/speed_up.h"

#include <gtest/gtest.h>

namespace headwise {
namespace {

Estimate estimate(double seconds, double error, const char* query) {
  Estimate time{.seconds = seconds, .error = error, .third_party = seconds};
  time.of.push_back(std::make_shared<const Provenance>(Provenance{.file = "t", .query = query}));
  return time;
}

// A time that does not change gains nothing, for certain, however badly it is known.
TEST(SpeedUps, AreOneWhereNothingChanges) {
  const Estimate time = estimate(3.0, 0.5, "a");
  const SpeedUp same = speed_up(time, time);
  EXPECT_EQ(same.ratio, 1.0);
  EXPECT_EQ(same.error, 0.0);
  StepTime step;
  step.at(StepPart::attention) = time;
  step.at(StepPart::feed_forward) = estimate(1.0, 0.2, "b");
  EXPECT_EQ(speed_up(step, step).ratio, 1.0);
  EXPECT_EQ(speed_up(step, step).error, 0.0);
}

TEST(SpeedUps, CountTheLargerErrorOfOneTableAndBothOfTwo) {
  const Estimate before = estimate(4.0, 0.1, "a");
  const SpeedUp one = speed_up(before, estimate(2.0, 0.3, "a"));
  EXPECT_EQ(one.ratio, 2.0);
  EXPECT_DOUBLE_EQ(one.error, 0.3);
  EXPECT_EQ(one.source, "third-party");
  EXPECT_DOUBLE_EQ(speed_up(before, estimate(2.0, 0.3, "b")).error, 0.4);
}

// 4 + 4 becomes 2 + 4: the unchanged half becomes two thirds, so that its error of 0.3 counts by
// 1/6; the other's 0.1 by the larger of 1/2 and 1/3.
TEST(SpeedUps, OfAStepLetUnchangedPartsCancel) {
  StepTime before, after;
  before.at(StepPart::attention) = estimate(4.0, 0.1, "a");
  after.at(StepPart::attention) = estimate(2.0, 0.1, "a");
  before.at(StepPart::feed_forward) = after.at(StepPart::feed_forward) = estimate(4.0, 0.3, "b");
  const SpeedUp step = speed_up(before, after);
  EXPECT_DOUBLE_EQ(step.ratio, 8.0 / 6.0);
  EXPECT_NEAR(step.error, 0.1 / 2.0 + 0.3 / 6.0, 1e-12);
}

TEST(SpeedUps, TakeTheWeakerSource) {
  Estimate assumed{.seconds = 1e-3, .error = 0.5, .assumed = 1e-3};
  EXPECT_EQ(speed_up(estimate(4.0, 0.0, "a"), assumed).source, "assumed");
}

TEST(SpeedUps, AreUnknownWhereATimeIs) {
  const SpeedUp none = speed_up(estimate(1.0, 0.0, "a"), unknown("no rate"));
  EXPECT_FALSE(none);
  EXPECT_EQ(none.why_not, "no rate");
  EXPECT_FALSE(speed_up(Estimate{}, Estimate{}));
}

}  // namespace
}  // namespace headwise
