#include <algorithm>
#include <set>

#include "advisor/device/calibration.h"
#include "advisor/device/data_folders.h"
#include "core/check.h"
#include "model/json/json_fields.h"
#include "model/json/json_text.h"

namespace headwise {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kLimits{.bytes = 1 << 24, .depth = 10, .values = 1 << 21};
constexpr double kLongestMicroseconds = 1e10;
constexpr double kMostSpread = 1e3;
constexpr std::size_t kMostAxes = 6;

const Json& array_of(JsonFields& fields, const std::string& name) {
  const Json& list = fields.value(name);
  check(list.is_array() && !list.empty(), "field ", fields.full(name),
        " is not an array with something in it");
  return list;
}

std::string full(const std::string& list, std::size_t index) {
  return concat(list, "[", index, "]");
}

Calibration::Source read_source(JsonFields& fields) {
  const std::string source = fields.string("source");
  check(source == "measured" || source == "third-party",
        "field 'source' is neither measured nor third-party");
  return source == "measured" ? Calibration::Source::measured : Calibration::Source::third_party;
}

Calibration::Origin read_origin(JsonFields& fields, const std::filesystem::path& file) {
  const Calibration::Source source = read_source(fields);
  const bool is_ours = source == Calibration::Source::measured;
  const std::string stem = file.stem();
  Calibration::Origin origin{
      .name = is_ours ? fields.string_or("name", stem) : fields.string("name"),
      .source = source,
      .system = fields.string("system"),
      .framework = fields.string("framework"),
      .version = fields.string("version"),
      .date = fields.string("date"),
      .origin = fields.string("origin"),
      .licence = is_ours ? fields.string_or("licence", "") : fields.string("licence"),
      .file = file};
  check(origin.name == stem, "field 'name' is not the file's name");
  fields.string_or("notice", "");  // for who reads the file
  return origin;
}

std::vector<GridAxis> read_axes(JsonFields& query, const std::string& place) {
  std::vector<GridAxis> axes;
  std::set<std::string> names;
  for (const Json& each : array_of(query, "axes")) {
    JsonFields fields(each, full(place + ".axes", axes.size()) + ".");
    const std::string scale = fields.string("scale");
    check(scale == "log" || scale == "linear", "field ", fields.full("scale"),
          " is neither log nor linear");
    axes.push_back(
        {.name = fields.string("name"), .unit = fields.string("unit"), .is_log = scale == "log"});
    check(names.insert(axes.back().name).second, "field ", fields.full("name"), " appears twice");
    fields.refuse_others();
  }
  check(axes.size() <= kMostAxes, "field ", query.full("axes"), " names more than ", kMostAxes);
  return axes;
}

AxisValues read_fixed(JsonFields fields, const std::vector<GridAxis>& axes) {
  AxisValues fixed;
  for (const std::string& name : fields.names()) {
    const Json& value = fields.value(name);
    check(value.is_number() || value.is_string(), "field ", fields.full(name),
          " is neither a number nor a string");
    check(std::ranges::find(axes, name, &GridAxis::name) == axes.end(), "field ", fields.full(name),
          " is an axis, too");
    if (value.is_string())
      fixed.emplace(name, value.get<std::string>());
    else
      fixed.emplace(name, value.get<double>());
  }
  return fixed;
}

MeasuredPoint read_point(const Json& row, const std::vector<GridAxis>& axes,
                         const std::string& place) {
  const std::size_t least = axes.size() + 1;  // the spread may be left out
  check(row.is_array() && (row.size() == least || row.size() == least + 1), "field '", place,
        "' is not an array of ", least, " or ", least + 1, " numbers");
  for (const Json& number : row)
    check(number.is_number(), "field '", place, "' holds something other than numbers");
  MeasuredPoint point{.microseconds = row[axes.size()].get<double>()};
  if (row.size() > least) point.spread = row[least].get<double>();
  check(point.spread >= 0.0 && point.spread <= kMostSpread, "field '", place,
        "' has a spread out of range: ", point.spread);
  check(point.microseconds > 0.0 && point.microseconds <= kLongestMicroseconds, "field '", place,
        "' has a time out of range: ", point.microseconds);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double value = row[i].get<double>();
    const bool fits = (axes[i].is_log ? value > 0.0 : value >= 0.0) && value <= 1e12;
    check(fits, "field '", place, "' has its ", axes[i].name, " out of range: ", value);
    point.at.push_back(value);
  }
  return point;
}

CalibrationGrid read_grid(JsonFields& table, const std::vector<GridAxis>& axes,
                          const std::string& place) {
  std::vector<MeasuredPoint> points;
  for (const Json& row : array_of(table, "points"))
    points.push_back(read_point(row, axes, full(place + ".points", points.size())));
  return with_name(concat("field '", place, ".points'"),
                   [&] { return CalibrationGrid(axes, std::move(points)); });
}

bool have_same_names(const AxisValues& a, const AxisValues& b) {
  return std::ranges::equal(a, b, {}, &AxisValues::value_type::first,
                            &AxisValues::value_type::first);
}

void read_query(const Json& each, const std::string& place, std::vector<CalibrationTable>& tables) {
  JsonFields query(each, place + ".");
  const std::string name = query.string("query");
  const bool is_new = std::ranges::find(tables, name, &CalibrationTable::query) == tables.end();
  check(is_new, "field ", query.full("query"), " appears twice");
  const std::vector<GridAxis> axes = read_axes(query, place);
  std::set<AxisValues> seen;
  for (const Json& item : array_of(query, "tables")) {
    const std::string here = full(place + ".tables", seen.size());
    JsonFields fields(item, here + ".");
    AxisValues fixed = read_fixed(fields.object("fixed"), axes);
    check(seen.empty() || have_same_names(*seen.begin(), fixed), "field ", fields.full("fixed"),
          " has other names than the table before it");
    check(seen.insert(fixed).second, "field ", fields.full("fixed"), " repeats another table's");
    tables.push_back({name, std::move(fixed), read_grid(fields, axes, here)});
    fields.refuse_others();
  }
  query.refuse_others();
}

/// A calibration, or the part of a result of bench that is one; what else bench says is not ours.
const Json& calibration_in(const Json& document) {
  if (!document.is_object() || !document.contains("device")) return document;
  const auto found = document.find("calibration");
  check(found != document.end(),
        "field 'calibration' is missing: nothing was measured that one holds");
  return *found;
}

Calibration parse(const std::string& text, const std::filesystem::path& file) {
  const Json document = parse_json(text, kLimits);
  JsonFields fields(calibration_in(document));
  Calibration::Origin origin = read_origin(fields, file);
  std::vector<CalibrationTable> tables;
  std::size_t index = 0;
  for (const Json& each : array_of(fields, "queries"))
    read_query(each, full("queries", index++), tables);
  fields.refuse_others();
  return {std::move(origin), std::move(tables)};
}

}  // namespace

Calibration Calibration::read(const std::filesystem::path& file) {
  const std::string text = read_text(file, kLimits.bytes);
  return with_name(file.string(), [&] { return parse(text, file); });
}

}  // namespace headwise
