#include "advisor/device/calibration_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using Json = nlohmann::ordered_json;

Json axes_json(const std::vector<GridAxis>& axes) {
  Json list = Json::array();
  for (const GridAxis& axis : axes)
    list.push_back(
        {{"name", axis.name}, {"unit", axis.unit}, {"scale", axis.is_log ? "log" : "linear"}});
  return list;
}

Json table_json(const CalibrationTable& table) {
  Json json{{"fixed", Json::object()}, {"points", Json::array()}};
  for (const auto& [name, value] : table.fixed)
    std::visit([&, key = name](const auto& held) { json["fixed"][key] = held; }, value);
  for (const MeasuredPoint& point : table.grid.points()) {
    Json row = point.at;
    row.push_back(point.microseconds);
    if (point.spread > 0.0) row.push_back(point.spread);
    json["points"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

Json calibration_json(const Calibration& calibration) {
  const Calibration::Origin& origin = calibration.origin();
  Json json;
  if (!origin.name.empty()) json["name"] = origin.name;
  json["source"] = origin.source == Calibration::Source::measured ? "measured" : "third-party";
  json["system"] = origin.system;
  json["framework"] = origin.framework;
  json["version"] = origin.version;
  json["date"] = origin.date;
  json["origin"] = origin.origin;
  if (!origin.licence.empty()) json["licence"] = origin.licence;
  Json& queries = json["queries"] = Json::array();
  for (const CalibrationTable& table : calibration.tables()) {
    auto query = std::ranges::find_if(
        queries, [&](const Json& each) { return each["query"] == table.query; });
    if (query == queries.end()) {
      queries.push_back({{"query", table.query},
                         {"axes", axes_json(table.grid.axes())},
                         {"tables", Json::array()}});
      query = queries.end() - 1;
    }
    (*query)["tables"].push_back(table_json(table));
  }
  return json;
}

}  // namespace headwise
