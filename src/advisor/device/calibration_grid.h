#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

/// Where a time comes from, the better one first.
enum class Basis : std::uint8_t { measured, interpolated, extrapolated };
const char* name_of(Basis basis);

/// A quantity that times were measured over.
struct GridAxis {
  std::string name, unit;
  bool is_log =
      true;  ///< the logarithm of time is a line in the logarithm; otherwise time in the value
};

struct MeasuredPoint {
  std::vector<double> at;  ///< [axes]
  double microseconds = 0.0;
  double spread = 0.0;  ///< relative, of its measurements; 0: not known
};

/// What the grid says of one place.
struct GridEstimate {
  double microseconds = 0.0;
  Basis basis = Basis::measured;
  double error = 0.0;                    ///< relative; of a measured point its spread
  std::vector<const MeasuredPoint*> of;  ///< of the grid's, which must outlive this
  std::string why_not;                   ///< not empty: there is no estimate
};

/// Work at a place, in any unit: positive.
using GridLaw = std::function<double(const std::vector<double>& at)>;

/// Measured times over some axes. Values of a later axis may differ between values of an earlier
/// one, as measurements end where memory does: each slice has its own range.
class CalibrationGrid {
 public:
  /// Points have a value an axis, positive on logarithmic ones, and positive times. Throws Error
  /// if there are none or two stand at one place.
  CalibrationGrid(std::vector<GridAxis> axes, std::vector<MeasuredPoint> points);

  const std::vector<GridAxis>& axes() const { return axes_; }
  const std::vector<MeasuredPoint>& points() const { return points_; }

  /// The point itself; between points by interpolation, axis by axis, which on a full grid is the
  /// multilinear one; outside by the nearest place inside times the ratio of `law` (absent: no
  /// estimate). Errors: interpolating, how far each neighbour lies from what its own neighbours
  /// would have said of it; extrapolating, how far the last step inside was from the law, taken on
  /// as far as the place is, and at least 5% a doubling of the work. Axes add as root of squares.
  GridEstimate estimate(const std::vector<double>& at, const GridLaw& law) const;

 private:
  std::vector<GridAxis> axes_;
  std::vector<MeasuredPoint> points_;  // by place, first axis first
};

}  // namespace headwise
