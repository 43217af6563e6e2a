#include "ops/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/model/error_of.h"

namespace headwise {
namespace {

using Floats = std::vector<float>;

MutableTensorView heads(Floats& x, std::int64_t tokens, std::int64_t count, std::int64_t dim) {
  return dense(x.data(), DType::f32, {tokens, count, dim});
}

TEST(RopeNeighbours, TurnsPairsByPositionTimesFrequency) {
  RopeTable table({1.0, 0.1});
  table.set_positions(2, 2);
  Floats x = {1, 0, 1, 0, /*left alone:*/ 9, 9, 0, 1, 0, 1, 9, 9};
  rope_neighbours(heads(x, 2, 1, 6), table);
  const Floats expected = {std::cos(2.0F),  std::sin(2.0F), std::cos(0.2F),  std::sin(0.2F), 9, 9,
                           -std::sin(3.0F), std::cos(3.0F), -std::sin(0.3F), std::cos(0.3F), 9, 9};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(x[i], expected[i], 1e-7) << i;
}

TEST(RopeHalves, TurnsPairsByPositionTimesFrequency) {
  RopeTable table({1.0, 0.1});
  table.set_positions(2, 2);
  Floats x = {1, 1, 0, 0, /*left alone:*/ 9, 9, 0, 0, 1, 1, 9, 9};
  rope_halves(heads(x, 2, 1, 6), table);
  const Floats expected = {std::cos(2.0F),  std::cos(0.2F),  std::sin(2.0F), std::sin(0.2F), 9, 9,
                           -std::sin(3.0F), -std::sin(0.3F), std::cos(3.0F), std::cos(0.3F), 9, 9};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(x[i], expected[i], 1e-7) << i;
}

/// What stands where in the two pairings, of a head of 64, at far positions.
TEST(Rope, FarPositionsAreExactInBothPairings) {
  std::vector<double> frequencies;
  for (int i = 0; i < 32; ++i) frequencies.push_back(std::pow(1e6, -i / 32.0));
  RopeTable table(frequencies);
  constexpr std::int64_t kFirst = 1000000;
  table.set_positions(kFirst, 3);
  Floats near(3 * 2 * 64);
  Floats far(near.size());
  const auto number = [](std::int64_t head, int pair, int side) {
    return float(head * 7 + pair * 3 + side * 11) / 100.0F - 1.0F;
  };
  for (std::int64_t head = 0; head < 6; ++head)
    for (int pair = 0; pair < 32; ++pair)
      for (int side = 0; side < 2; ++side) {
        near[std::size_t(head * 64 + 2 * pair + side)] = number(head, pair, side);
        far[std::size_t(head * 64 + pair + 32 * side)] = number(head, pair, side);
      }
  rope_neighbours(heads(near, 3, 2, 64), table);
  rope_halves(heads(far, 3, 2, 64), table);
  for (std::int64_t head = 0; head < 6; ++head)
    for (int pair = 0; pair < 32; ++pair) {
      const double angle = double(kFirst + head / 2) * frequencies[std::size_t(pair)];
      const double a = number(head, pair, 0);
      const double b = number(head, pair, 1);
      const double turned[] = {a * std::cos(angle) - b * std::sin(angle),
                               a * std::sin(angle) + b * std::cos(angle)};
      for (int side = 0; side < 2; ++side) {
        EXPECT_NEAR(near[std::size_t(head * 64 + 2 * pair + side)], turned[side], 1e-6);
        EXPECT_NEAR(far[std::size_t(head * 64 + pair + 32 * side)], turned[side], 1e-6);
      }
    }
}

TEST(Rope, MagnitudeScalesWhatIsTurned) {
  RopeTable table({0.5}, 1.25);
  table.set_positions(3, 1);
  Floats x = {3, 4, 9};
  Floats y = x;
  rope_neighbours(heads(x, 1, 1, 3), table);
  rope_halves(heads(y, 1, 1, 3), table);
  for (const Floats& turned : {x, y}) {
    EXPECT_NEAR(turned[0], 1.25 * (3 * std::cos(1.5) - 4 * std::sin(1.5)), 1e-6);
    EXPECT_NEAR(turned[1], 1.25 * (3 * std::sin(1.5) + 4 * std::cos(1.5)), 1e-6);
    EXPECT_EQ(turned[2], 9);
  }
}

TEST(Rope, PositionZeroTurnsNothing) {
  RopeTable table({1.0, 0.25, 0.1});
  table.set_positions(0, 1);
  const Floats before = {1, -2, 3, -4, 5, -6};
  Floats x = before;
  rope_halves(heads(x, 1, 1, 6), table);
  rope_neighbours(heads(x, 1, 1, 6), table);
  EXPECT_EQ(x, before);
}

TEST(Rope, HeadsOfATokenTurnAlikeAndStridesAreKept) {
  RopeTable table({1.0});
  table.set_positions(5, 2);
  for (const auto turn : {rope_neighbours, rope_halves}) {
    Floats x = {1, 2, 1, 2, -7, 3, 4, 3, 4, -7};  // two tokens of two heads, one element between
    MutableTensorView view = heads(x, 2, 2, 2);
    view.strides[0] = 5;
    turn(view, table);
    EXPECT_NEAR(x[0], 1 * std::cos(5.0) - 2 * std::sin(5.0), 1e-6);
    EXPECT_EQ(x[0], x[2]);
    EXPECT_EQ(x[1], x[3]);
    EXPECT_EQ(x[4], -7);
    EXPECT_NEAR(x[6], 3 * std::sin(6.0) + 4 * std::cos(6.0), 1e-6);
    EXPECT_EQ(x[9], -7);
  }
}

TEST(Rope, RefusesOtherSizes) {
  EXPECT_NE(error_of([] { RopeTable({}); }), "");
  EXPECT_NE(error_of([] { RopeTable({1.0, NAN}); }), "");
  EXPECT_NE(error_of([] { RopeTable({INFINITY}); }), "");
  EXPECT_NE(error_of([] { RopeTable({1.0}, NAN); }), "");
  RopeTable table({1.0, 0.1});
  table.set_positions(0, 2);
  Floats x(16);
  for (const auto turn : {rope_neighbours, rope_halves}) {
    EXPECT_NE(error_of([&] { turn(heads(x, 3, 1, 4), table); }), "");
    EXPECT_NE(error_of([&] { turn(heads(x, 2, 4, 2), table); }), "");
    EXPECT_EQ(error_of([&] { turn(heads(x, 2, 2, 4), table); }), "");
  }
  EXPECT_NE(error_of([&] { table.set_positions(-1, 2); }), "");
  EXPECT_NE(error_of([&] { table.set_positions(1, -2); }), "");
}

}  // namespace
}  // namespace headwise
