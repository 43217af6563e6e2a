#include "advisor/device/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "advisor/device/data_folders.h"
#include "core/check.h"

namespace headwise {
namespace {

std::string text_of(const AxisValue& value) {
  return std::visit([](const auto& held) { return concat(held); }, value);
}

/// Why the table's names are not those of `values`; empty if they are.
std::string wrong_names(const CalibrationTable& table, const AxisValues& values) {
  std::set<std::string_view> known;
  for (const auto& [name, value] : table.fixed) known.insert(name);
  for (const GridAxis& axis : table.grid.axes()) known.insert(axis.name);
  for (const std::string_view name : known)
    if (!values.contains(name)) return concat(name, " is not given");
  for (const auto& [name, value] : values)
    if (!known.contains(name)) return concat(name, " is nothing that was told apart");
  return {};
}

/// The names of fixed values in which `values` differs from the table.
std::vector<std::string> differences(const CalibrationTable& table, const AxisValues& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table.fixed)
    if (values.find(name)->second != value) names.push_back(name);
  return names;
}

/// The values of `name` in tables that differ from `values` in nothing but `names`.
std::string measured_values(const std::vector<const CalibrationTable*>& tables,
                            const AxisValues& values, const std::vector<std::string>& names,
                            const std::string& name) {
  std::set<AxisValue> found;
  for (const CalibrationTable* table : tables)
    if (differences(*table, values) == names) found.insert(table->fixed.find(name)->second);
  std::string text;
  for (const AxisValue& value : found) text += (text.empty() ? "" : ", ") + text_of(value);
  return text;
}

struct Place {
  std::vector<double> at;
  std::string why_not;
};

Place place_of(const CalibrationGrid& grid, const AxisValues& values) {
  Place place;
  for (const GridAxis& axis : grid.axes()) {
    const AxisValue& value = values.find(axis.name)->second;
    const double* number = std::get_if<double>(&value);
    const bool fits = number != nullptr && std::isfinite(*number) && (*number > 0 || !axis.is_log);
    if (!fits) return {.why_not = concat(axis.name, " is ", text_of(value))};
    place.at.push_back(*number);
  }
  return place;
}

GridLaw law_on_grid(const CalibrationGrid& grid, const AxisValues& values, const ScalingLaw& law) {
  if (!law) return {};
  return [&grid, &law, named = AxisValues(values)](const std::vector<double>& at) mutable {
    for (std::size_t i = 0; i < at.size(); ++i) named[grid.axes()[i].name] = at[i];
    return law(named);
  };
}

/// The table that `values` means, or why there is none, by the tables that come nearest.
struct Match {
  const CalibrationTable* table = nullptr;
  std::string why_not;
};

Match match(const std::vector<const CalibrationTable*>& tables, const AxisValues& values) {
  std::vector<std::string> nearest;
  const CalibrationTable* near = nullptr;
  for (const CalibrationTable* table : tables) {
    if (std::string wrong = wrong_names(*table, values); !wrong.empty())
      return {.why_not = std::move(wrong)};
    std::vector<std::string> names = differences(*table, values);
    if (names.empty()) return {.table = table};
    if (near != nullptr && names.size() >= nearest.size()) continue;
    near = table;
    nearest = std::move(names);
  }
  std::string why_not;
  for (const std::string& name : nearest)
    why_not += concat(why_not.empty() ? "" : "; ", name, " is ", text_of(values.find(name)->second),
                      ", measured are ", measured_values(tables, values, nearest, name));
  return {.why_not = std::move(why_not)};
}

}  // namespace

CalibrationAnswer Calibration::lookup(std::string_view query, const AxisValues& values,
                                      const ScalingLaw& law) const {
  std::vector<const CalibrationTable*> tables;
  for (const CalibrationTable& table : tables_)
    if (table.query == query) tables.push_back(&table);
  const auto refuse = [&](const std::string& reason) {
    return CalibrationAnswer{.why_not = concat(origin_.name, " has no ", query, ": ", reason)};
  };
  if (tables.empty()) return refuse("nothing of the kind was measured");
  const Match found = match(tables, values);
  if (found.table == nullptr) return refuse(found.why_not);
  const CalibrationGrid& grid = found.table->grid;
  const Place place = place_of(grid, values);
  if (!place.why_not.empty()) return refuse(place.why_not);
  const GridEstimate estimate = grid.estimate(place.at, law_on_grid(grid, values, law));
  if (!estimate.why_not.empty()) return refuse(estimate.why_not);
  CalibrationAnswer answer{.time = CalibratedTime{.microseconds = estimate.microseconds,
                                                  .basis = estimate.basis,
                                                  .error_bar = estimate.error,
                                                  .file = origin_.file,
                                                  .axes = grid.axes()}};
  for (const MeasuredPoint* point : estimate.of) answer.time->points.push_back(*point);
  return answer;
}

std::vector<std::filesystem::path> list_calibrations() {
  return data_files(data_folders("calibration"));
}

std::vector<std::filesystem::path> list_own_calibrations() {
  const char* own = std::getenv("HEADWISE_CALIBRATION");
  if (own == nullptr || *own == '\0') return {};
  return data_files({data_folders("calibration", own).front()});
}

}  // namespace headwise
