#include "advisor/advice/speed_up.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

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

/// A part of a step before and after a change, of one of the three kinds that the rule tells apart.
struct DrawnPart {
  enum class Kind { two_tables, one_table, unchanged } kind;
  Estimate before, after;

  /// The relative errors of both times in a case of the model: `common` and both `own` are from -1
  /// to 1; half of what is of one table goes with `common`.
  std::pair<double, double> off(double common, double own_before, double own_after) const {
    if (kind == Kind::unchanged) return {before.error * common, after.error * common};
    if (kind == Kind::two_tables) return {before.error * own_before, after.error * own_after};
    return {before.error * (common + own_before) / 2, after.error * (common + own_after) / 2};
  }
};

std::vector<DrawnPart> drawn_parts(std::mt19937& random) {
  std::uniform_real_distribution<double> seconds(0.1, 4.0), error(0.0, 0.3);
  std::vector<DrawnPart> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    DrawnPart part{.kind = static_cast<DrawnPart::Kind>(random() % 3), .before = {}, .after = {}};
    const std::string table = std::to_string(i);
    part.before = estimate(seconds(random), error(random), table.c_str());
    part.after = part.kind == DrawnPart::Kind::unchanged
                     ? part.before
                     : estimate(seconds(random), error(random),
                                part.kind == DrawnPart::Kind::one_table ? table.c_str() : "other");
    parts.push_back(part);
  }
  return parts;
}

/// What the parts add up to where each is off as `case_of` says: the ratio over the one that is
/// estimated, less 1, and the relative error of the time after.
template <class CaseOf>
std::pair<double, double> off_in(const std::vector<DrawnPart>& parts, const CaseOf& case_of) {
  double before = 0.0, after = 0.0, true_before = 0.0, true_after = 0.0;
  for (const DrawnPart& part : parts) {
    const auto [x, y] = case_of(part);
    before += part.before.seconds;
    after += part.after.seconds;
    true_before += part.before.seconds * (1.0 + x);
    true_after += part.after.seconds * (1.0 + y);
  }
  const double off_after = true_after / after - 1.0;
  return {true_before / true_after / (before / after) - 1.0, off_after};
}

// By arithmetic, of errors drawn by the rule's model: none is beyond it, and a corner reaches it,
// both to first order, which is off by the time after's own error.
TEST(SpeedUps, HaveTheErrorOfTheWorstCase) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  for (int draw = 0; draw < 300; ++draw) {
    const std::vector<DrawnPart> parts = drawn_parts(random);
    StepTime before, after;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      before.parts[i] = parts[i].before;
      after.parts[i] = parts[i].after;
    }
    const double error = speed_up(before, after).error;
    const auto of_first_order = [](const std::pair<double, double>& off) {
      return off.first * (1.0 + off.second);
    };
    for (int i = 0; i < 50; ++i) {
      const auto off = off_in(
          parts, [&](const DrawnPart& p) { return p.off(any(random), any(random), any(random)); });
      EXPECT_LE(std::abs(of_first_order(off)), error + 1e-12);
    }
    const double total_before = before.total().seconds, total_after = after.total().seconds;
    const auto worst = off_in(parts, [&](const DrawnPart& part) {
      const double a = part.before.error * part.before.seconds / total_before;
      const double b = part.after.error * part.after.seconds / total_after;
      return part.off(a >= b ? 1.0 : -1.0, 1.0, -1.0);
    });
    EXPECT_NEAR(of_first_order(worst), error, 1e-12);
  }
}

// Beside the usual arithmetic of spreads: independent errors add as squares, of which the rule for
// one table leaves out something, and nothing where their correlation is a half.
TEST(SpeedUps, LieBetweenTheArithmeticOfIndependentAndOfCommonErrors) {
  for (const double a : {0.0, 0.05, 0.1, 0.3})
    for (const double b : {0.0, 0.05, 0.2, 0.3}) {
      const Estimate before = estimate(4.0, a, "a");
      const double same = speed_up(before, estimate(2.0, b, "a")).error;
      const double two = speed_up(before, estimate(2.0, b, "b")).error;
      const double independent = std::hypot(a, b);
      EXPECT_GE(same + 1e-12, std::sqrt(a * a + b * b - a * b));  // a correlation of a half
      EXPECT_GE(same, std::abs(a - b));                           // of one
      EXPECT_LE(same, independent + 1e-12);
      EXPECT_GE(two + 1e-12, independent);
    }
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
