#include "advisor/device/hardware_json.h"

#include <nlohmann/json.hpp>

#include "advisor/device/hardware_fields.h"

namespace headwise {
namespace {

using Json = nlohmann::ordered_json;

HardwareUnit unit_for(double value, const HardwareField& field) {
  HardwareUnit best = field.units.front();
  for (const HardwareUnit& unit : field.units)
    if (unit.size > best.size && value >= unit.size) best = unit;
  return best;
}

Json figure_json(const Figure& figure, const HardwareField& field) {
  const HardwareUnit unit = unit_for(figure.value, field);
  Json json{{"value", figure.value / unit.size}, {"unit", unit.name}};
  if (figure.up_to) json["up_to"] = *figure.up_to / unit.size;
  json["source"] = name_of(figure.source);
  if (!figure.origin.empty()) json["origin"] = figure.origin;
  if (!figure.note.empty()) json["note"] = figure.note;
  for (const OtherFigure& other : figure.others) {
    Json each{{"value", other.value / unit.size}, {"source", name_of(other.source)}};
    if (!other.origin.empty()) each["origin"] = other.origin;
    if (!other.note.empty()) each["note"] = other.note;
    json["others"].push_back(std::move(each));
  }
  return json;
}

}  // namespace

Json hardware_json(const Hardware& hardware, const std::string& name) {
  Json json{{"name", name},
            {"system", hardware.system},
            {"title", hardware.title},
            {"kind", hardware.kind == Hardware::Kind::gpu ? "gpu" : "cpu"}};
  if (!hardware.note.empty()) json["note"] = hardware.note;
  for (const HardwareField& field : kHardwareFields)
    if (const std::optional<Figure>& figure = hardware.*field.figure)
      json[field.name] = figure_json(*figure, field);
  if (!hardware.lacks.empty()) json["lacks"] = hardware.lacks;
  return json;
}

}  // namespace headwise
