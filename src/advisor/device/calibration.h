#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "advisor/device/calibration_grid.h"

namespace headwise {

/// A query's values by name: numbers, and words such as types.
using AxisValue = std::variant<double, std::string>;
using AxisValues = std::map<std::string, AxisValue, std::less<>>;

/// Work at some values, in any unit; it must be positive.
using ScalingLaw = std::function<double(const AxisValues&)>;

/// A time, and how much to believe in it.
struct CalibratedTime {
  double microseconds = 0.0;
  Basis basis = Basis::measured;
  double error_bar = 0.0;  ///< relative; of a point that was measured its spread, 0 if unknown
  std::filesystem::path file;
  std::vector<GridAxis> axes;         ///< of the points
  std::vector<MeasuredPoint> points;  ///< that the time is made of
};

/// What a calibration answers: a time, or why there is none.
struct CalibrationAnswer {
  std::optional<CalibratedTime> time;
  std::string why_not;
  explicit operator bool() const { return time.has_value(); }
};

/// Times over a grid, for one combination of the values that must match exactly.
struct CalibrationTable {
  std::string query;  ///< "attention_decode"
  AxisValues fixed;
  CalibrationGrid grid;
};

/// Measured times of one system, from a file (docs/calibration.md) or a result of bench that has
/// one among its fields.
class Calibration {
 public:
  enum class Source : std::uint8_t { measured, third_party };

  struct Origin {
    std::string name;  ///< the file's, without .json
    Source source = Source::third_party;
    std::string system;  ///< as data/hardware names it
    std::string framework, version, date;
    std::string origin;   ///< where the numbers were taken from
    std::string licence;  ///< empty: our own
    std::filesystem::path file;
  };

  /// Throws Error, one line with the file and the field.
  static Calibration read(const std::filesystem::path& file);

  Calibration(Origin origin, std::vector<CalibrationTable> tables)
      : origin_(std::move(origin)), tables_(std::move(tables)) {}

  const Origin& origin() const { return origin_; }
  const std::vector<CalibrationTable>& tables() const { return tables_; }

  /// The time of `query` at `values`, which name each fixed value and each axis of its tables and
  /// nothing else. Outside of the measured range times follow `law`; without it they are absent.
  CalibrationAnswer lookup(std::string_view query, const AxisValues& values,
                           const ScalingLaw& law = {}) const;

 private:
  Origin origin_;
  std::vector<CalibrationTable> tables_;
};

/// The files that come with Headwise.
std::vector<std::filesystem::path> list_calibrations();

/// The *.json of the folder that HEADWISE_CALIBRATION names; none if it is not set. Throws Error if
/// it is no folder.
std::vector<std::filesystem::path> list_own_calibrations();

}  // namespace headwise
