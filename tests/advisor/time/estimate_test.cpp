#include "advisor/time/estimate.h"

#include <gtest/gtest.h>

namespace headwise {
namespace {

Estimate measured(double seconds, double error = 0.0) {
  return {.seconds = seconds, .error = error};
}

Estimate third_party(double seconds, double error = 0.0) {
  return {.seconds = seconds, .error = error, .third_party = seconds};
}

Estimate assumed(double seconds, double error = 0.0) {
  return {.seconds = seconds, .error = error, .assumed = seconds};
}

TEST(Estimate, SaysWhereItComesFrom) {
  EXPECT_STREQ(measured(1.0).source(), "measured");
  EXPECT_STREQ(third_party(1.0).source(), "third-party");
  EXPECT_STREQ(assumed(1.0).source(), "assumed");
  EXPECT_STREQ(measured(1.0).by_rule(0.1).source(), "extrapolated");
  EXPECT_STREQ(third_party(1.0).by_rule(0.1).source(), "third-party, extrapolated");
  Estimate between = third_party(1.0);
  between.interpolated = 1.0;
  EXPECT_STREQ(between.source(), "third-party, interpolated");
  between.third_party = 0.0;
  EXPECT_STREQ(between.source(), "interpolated");
}

// 3 +- 10 % and 1 +- 50 %: 0.3 + 0.5 of 4.
TEST(Estimate, ErrorsAddAsTheyAre) {
  const Estimate total = measured(3.0, 0.1) + measured(1.0, 0.5);
  EXPECT_DOUBLE_EQ(total.seconds, 4.0);
  EXPECT_DOUBLE_EQ(total.error, 0.2);
}

TEST(Estimate, ATenthDecidesTheLabel) {
  EXPECT_STREQ((third_party(0.91) + assumed(0.09)).source(), "third-party");
  EXPECT_STREQ((third_party(0.90) + assumed(0.10)).source(), "assumed");
  EXPECT_STREQ((measured(0.5) + third_party(0.5).by_rule(0.0)).source(),
               "third-party, extrapolated");
}

// Many small parts of one kind are no smaller than one large one.
TEST(Estimate, SmallPartsCountTogether) {
  Estimate total = measured(0.8);
  for (int i = 0; i < 4; ++i) total += assumed(0.05);
  EXPECT_STREQ(total.source(), "assumed");
}

TEST(Estimate, OnePartUnknownMakesTheSumUnknown) {
  const Estimate total = measured(1.0) + unknown("no rate") + measured(2.0);
  EXPECT_FALSE(total);
  EXPECT_EQ(total.why_not, "no rate");
  EXPECT_FALSE(larger(unknown("no rate"), measured(1.0)));
  EXPECT_FALSE(larger(measured(1.0), unknown("no rate")));
}

TEST(Estimate, ScalingKeepsErrorAndLabel) {
  const Estimate twice = (third_party(1.0, 0.1) + assumed(1.0, 0.3)).scaled(2.0);
  EXPECT_DOUBLE_EQ(twice.seconds, 4.0);
  EXPECT_DOUBLE_EQ(twice.error, 0.2);
  EXPECT_DOUBLE_EQ(twice.assumed, 2.0);
  EXPECT_DOUBLE_EQ(twice.third_party, 2.0);
}

TEST(Estimate, ARuleWidensTheError) {
  const Estimate ruled = third_party(1.0, 0.1).by_rule(0.2);
  EXPECT_DOUBLE_EQ(ruled.error, 0.3);
  EXPECT_DOUBLE_EQ(ruled.extrapolated, 1.0);
}

}  // namespace
}  // namespace headwise
