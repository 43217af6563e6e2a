#include "advisor/device/calibration_grid.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/check.h"

namespace headwise {
namespace {

using Points = std::span<const MeasuredPoint>;

constexpr double kErrorOfDoubling = 0.05;

struct Line {
  double x0, t0, x1, t1;
};

double on_line(const Line& line, double x, bool is_log) {
  if (!is_log) return line.t0 + (line.t1 - line.t0) * (x - line.x0) / (line.x1 - line.x0);
  return line.t0 * std::pow(line.t1 / line.t0, std::log(x / line.x0) / std::log(line.x1 / line.x0));
}

double hypotenuse(double a, double b) { return std::sqrt(a * a + b * b); }

/// Walks down the axes; `at_` is the place, with the values of slices for axes above the current.
class Walk {
 public:
  Walk(const std::vector<GridAxis>& axes, const std::vector<double>& at, const GridLaw& law)
      : axes_(axes), at_(at), law_(law) {}

  GridEstimate estimate(Points points, std::size_t axis);

 private:
  using Slice = std::optional<GridEstimate>;

  GridEstimate of_slice(Points slice, std::size_t axis);
  Slice trusted_neighbour(Points slice, std::size_t axis);
  GridEstimate between(Points below, Points above, std::size_t axis);
  double error_between(const Line& line, Points before, Points behind, std::size_t axis);
  GridEstimate outside(Points slice, Points inner, std::size_t axis);
  double law_at(std::size_t axis, double value);

  const std::vector<GridAxis>& axes_;
  std::vector<double> at_;
  const GridLaw& law_;
};

/// How many of the points, which are sorted by `axis`, lie below `value`.
std::size_t count_below(Points points, std::size_t axis, double value) {
  const auto end = std::ranges::partition_point(
      points, [&](const MeasuredPoint& point) { return point.at[axis] < value; });
  return static_cast<std::size_t>(end - points.begin());
}

/// The points that share the first one's value of `axis`.
Points first_slice(Points points, std::size_t axis) {
  if (points.empty()) return points;
  const double value = points.front().at[axis];
  return points.first(count_below(points, axis, std::nextafter(value, HUGE_VAL)));
}

Points last_slice(Points points, std::size_t axis) {
  if (points.empty()) return points;
  return points.subspan(count_below(points, axis, points.back().at[axis]));
}

double value_of(Points slice, std::size_t axis) { return slice.front().at[axis]; }

GridEstimate Walk::estimate(Points points, std::size_t axis) {
  if (axis == axes_.size())
    return {.microseconds = points.front().microseconds,
            .error = points.front().spread,
            .of = {&points.front()}};
  const double x = at_[axis];
  const std::size_t count = count_below(points, axis, x);
  const Points below = points.first(count), above = points.subspan(count);
  const Points low = last_slice(below, axis), high = first_slice(above, axis);
  if (!high.empty() && value_of(high, axis) == x) return of_slice(high, axis);
  if (low.empty()) return outside(high, first_slice(above.subspan(high.size()), axis), axis);
  if (high.empty()) return outside(low, last_slice(below.first(count - low.size()), axis), axis);
  return between(below, above, axis);
}

GridEstimate Walk::of_slice(Points slice, std::size_t axis) {
  const double x = std::exchange(at_[axis], value_of(slice, axis));
  GridEstimate estimate = this->estimate(slice, axis + 1);
  at_[axis] = x;
  return estimate;
}

/// Absent where the slice itself would be extrapolated, which says nothing about its neighbours.
Walk::Slice Walk::trusted_neighbour(Points slice, std::size_t axis) {
  if (slice.empty()) return {};
  GridEstimate estimate = of_slice(slice, axis);
  if (!estimate.why_not.empty() || estimate.basis == Basis::extrapolated) return {};
  return estimate;
}

double Walk::law_at(std::size_t axis, double value) {
  const double x = std::exchange(at_[axis], value);
  const double work = law_(at_);
  at_[axis] = x;
  check(work > 0.0 && std::isfinite(work), "the scaling law gives ", work, " at ", axes_[axis].name,
        " ", value);
  return work;
}

GridEstimate Walk::between(Points below, Points above, std::size_t axis) {
  const Points low = last_slice(below, axis), high = first_slice(above, axis);
  GridEstimate a = of_slice(low, axis);
  GridEstimate b = of_slice(high, axis);
  if (!a.why_not.empty()) return a;
  if (!b.why_not.empty()) return b;
  const Line line{value_of(low, axis), a.microseconds, value_of(high, axis), b.microseconds};
  const double error = error_between(line, last_slice(below.first(below.size() - low.size()), axis),
                                     first_slice(above.subspan(high.size()), axis), axis);
  GridEstimate estimate{.microseconds = on_line(line, at_[axis], axes_[axis].is_log),
                        .basis = std::max({a.basis, b.basis, Basis::interpolated}),
                        .error = hypotenuse(error, std::max(a.error, b.error)),
                        .of = std::move(a.of)};
  estimate.of.insert(estimate.of.end(), b.of.begin(), b.of.end());
  return estimate;
}

/// What leaving out each end of the line would have done, seen from the slices beyond. Where there
/// are none, half of the way between the ends: time may do anything in between.
double Walk::error_between(const Line& line, Points before, Points behind, std::size_t axis) {
  const bool is_log = axes_[axis].is_log;
  std::optional<double> error;
  if (const Slice slice = trusted_neighbour(before, axis)) {
    const Line without{value_of(before, axis), slice->microseconds, line.x1, line.t1};
    error = std::abs(on_line(without, line.x0, is_log) / line.t0 - 1.0);
  }
  if (const Slice slice = trusted_neighbour(behind, axis)) {
    const Line without{line.x0, line.t0, value_of(behind, axis), slice->microseconds};
    const double other = std::abs(on_line(without, line.x1, is_log) / line.t1 - 1.0);
    error = std::max(error.value_or(0.0), other);
  }
  return error.value_or(std::abs(std::log(line.t1 / line.t0)) / 2.0);
}

GridEstimate Walk::outside(Points slice, Points inner, std::size_t axis) {
  const double edge = value_of(slice, axis), x = at_[axis];
  if (!law_)
    return {.why_not = concat(axes_[axis].name, " ", x,
                              " is outside of what was measured (the nearest is ", edge,
                              "), and no scaling law is given")};
  GridEstimate estimate = of_slice(slice, axis);
  if (!estimate.why_not.empty()) return estimate;
  const double law_edge = law_at(axis, edge);
  const double ratio = law_at(axis, x) / law_edge;
  double error = kErrorOfDoubling * std::abs(std::log2(ratio));
  if (const Slice next = trusted_neighbour(inner, axis)) {
    const double x_inner = value_of(inner, axis);
    const double miss = std::log(estimate.microseconds / next->microseconds) -
                        std::log(law_edge / law_at(axis, x_inner));
    const double steps = axes_[axis].is_log ? std::log(x / edge) / std::log(edge / x_inner)
                                            : (x - edge) / (edge - x_inner);
    error = std::max(error, std::expm1(std::abs(miss * steps)));
  }
  estimate.microseconds *= ratio;
  estimate.basis = Basis::extrapolated;
  estimate.error = hypotenuse(error, estimate.error);
  return estimate;
}

}  // namespace

const char* name_of(Basis basis) {
  switch (basis) {
    case Basis::measured:
      return "measured";
    case Basis::interpolated:
      return "interpolated";
    case Basis::extrapolated:
      break;
  }
  return "extrapolated";
}

CalibrationGrid::CalibrationGrid(std::vector<GridAxis> axes, std::vector<MeasuredPoint> points)
    : axes_(std::move(axes)), points_(std::move(points)) {
  check(!points_.empty(), "holds no points");
  std::ranges::sort(points_, {}, &MeasuredPoint::at);
  const auto twin = std::ranges::adjacent_find(points_, {}, &MeasuredPoint::at);
  check(twin == points_.end(), "holds two points at one place");
}

GridEstimate CalibrationGrid::estimate(const std::vector<double>& at, const GridLaw& law) const {
  return Walk(axes_, at, law).estimate(points_, 0);
}

}  // namespace headwise
