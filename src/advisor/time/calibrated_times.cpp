#include "advisor/time/calibrated_times.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/check.h"

namespace headwise {
namespace {

bool is_own(const Calibration& calibration) {
  return calibration.origin().source == Calibration::Source::measured;
}

bool has(const Calibration& calibration, std::string_view query) {
  return std::ranges::any_of(calibration.tables(),
                             [&](const CalibrationTable& table) { return table.query == query; });
}

void refuse_unknown(const std::vector<Calibration>& calibrations, std::string_view system,
                    std::string_view framework) {
  std::set<std::string> known;
  for (const Calibration& calibration : calibrations)
    if (!is_own(calibration)) known.insert(calibration.origin().framework);
  if (framework.empty() || known.contains(std::string(framework))) return;
  std::string names;
  for (const std::string& name : known) names += concat(names.empty() ? "" : ", ", name);
  throw Error(ErrorCode::unknown_name,
              concat("no times of framework '", framework, "' are known of ", system,
                     known.empty() ? "" : "; there are ", names));
}

Estimate estimate_of(const std::string& what, std::string_view query, const AxisValues& values,
                     const Calibration& calibration, const CalibratedTime& time) {
  constexpr double kSecondsPerMicrosecond = 1e-6;
  const Calibration::Origin& origin = calibration.origin();
  Estimate estimate{.seconds = time.microseconds * kSecondsPerMicrosecond, .error = time.error_bar};
  if (time.basis == Basis::interpolated) estimate.interpolated = estimate.seconds;
  if (time.basis == Basis::extrapolated) estimate.extrapolated = estimate.seconds;
  if (!is_own(calibration)) estimate.third_party = estimate.seconds;
  estimate.of.push_back(std::make_shared<const Provenance>(Provenance{
      .what = what,
      .file = time.file,
      .query = std::string(query),
      .at = values,
      .system = origin.system,
      .framework = origin.framework,
      .version = origin.version,
      .basis = concat(name_of(time.basis), " from ", time.points.size(),
                      time.points.size() == 1 ? " point" : " points"),
      .source = estimate.source(),
      .error = time.error_bar,
  }));
  return estimate;
}

}  // namespace

CalibratedTimes::CalibratedTimes(std::vector<Calibration> calibrations, std::string_view system,
                                 std::string_view framework) {
  std::erase_if(calibrations, [&](const Calibration& calibration) {
    return calibration.origin().system != system;
  });
  refuse_unknown(calibrations, system, framework);
  const std::string_view chosen = framework.empty() ? kUsualFramework : framework;
  const auto rank = [&](const Calibration& calibration) {
    if (is_own(calibration)) return 0;
    if (calibration.origin().framework == chosen) return 1;
    return calibration.origin().framework == kUsualFramework ? 2 : 3;
  };
  std::erase_if(calibrations, [&](const Calibration& each) { return rank(each) == 3; });
  std::ranges::stable_sort(calibrations, {}, rank);
  calibrations_ = std::move(calibrations);
}

std::vector<const Calibration*> CalibratedTimes::asked(std::string_view query) const {
  std::vector<const Calibration*> asked;
  for (const Calibration& calibration : calibrations_) {
    const bool is_left_out = !asked.empty() && !is_own(*asked.back());
    if (has(calibration, query) && !is_left_out) asked.push_back(&calibration);
  }
  return asked;
}

Estimate CalibratedTimes::lookup(const std::string& what, std::string_view query,
                                 const AxisValues& values, const ScalingLaw& law) const {
  std::optional<Estimate> farther;
  std::string why_not;
  for (const Calibration* calibration : asked(query)) {
    const CalibrationAnswer answer = calibration->lookup(query, values, law);
    if (!answer) {
      why_not += concat(why_not.empty() ? "" : "; ", answer.why_not);
      continue;
    }
    Estimate estimate = estimate_of(what, query, values, *calibration, *answer.time);
    if (answer.time->basis != Basis::extrapolated) return estimate;
    if (!farther) farther = std::move(estimate);
  }
  if (farther) return *farther;
  return unknown(why_not.empty() ? concat("nothing was measured of ", query) : why_not);
}

bool CalibratedTimes::has_axis(std::string_view query, std::string_view axis) const {
  return std::ranges::any_of(asked(query), [&](const Calibration* calibration) {
    return std::ranges::any_of(calibration->tables(), [&](const CalibrationTable& table) {
      return table.query == query &&
             std::ranges::find(table.grid.axes(), axis, &GridAxis::name) != table.grid.axes().end();
    });
  });
}

std::vector<AxisValues> CalibratedTimes::measured(std::string_view query) const {
  std::vector<AxisValues> values;
  for (const Calibration* calibration : asked(query))
    for (const CalibrationTable& table : calibration->tables())
      if (table.query == query) values.push_back(table.fixed);
  return values;
}

std::vector<Calibration> read_calibrations() {
  std::vector<Calibration> calibrations;
  for (const std::filesystem::path& file : list_calibrations())
    calibrations.push_back(Calibration::read(file));
  return calibrations;
}

}  // namespace headwise
