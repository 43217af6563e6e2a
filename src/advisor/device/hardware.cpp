#include "advisor/device/hardware.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <span>

#include "advisor/device/data_folders.h"
#include "advisor/device/hardware_fields.h"
#include "core/check.h"
#include "model/json/json_fields.h"
#include "model/json/json_text.h"

namespace headwise {
namespace fs = std::filesystem;
namespace {

constexpr std::array kSources{FigureSource::datasheet, FigureSource::measured,
                              FigureSource::measured_elsewhere, FigureSource::calculated,
                              FigureSource::unverified};

FigureSource read_source(JsonFields& fields) {
  const std::string text = fields.string("source");
  const auto found =
      std::ranges::find_if(kSources, [&](FigureSource source) { return name_of(source) == text; });
  check(found != kSources.end(), "field ", fields.full("source"),
        " is none of datasheet, measured, measured elsewhere, calculated, unverified");
  return *found;
}

double read_unit(JsonFields& fields, const HardwareField& field) {
  const std::string text = fields.string("unit");
  std::string known;
  for (const HardwareUnit& unit : field.units) {
    if (unit.name == text) return unit.size;
    known += concat(known.empty() ? "" : ", ", unit.name);
  }
  throw Error(ErrorCode::invalid_input,
              concat("field ", fields.full("unit"), " is none of ", known));
}

double read_value(JsonFields& fields, const char* name, double unit, const HardwareField& field) {
  const double value = fields.number(name, 0.0) * unit;
  check(value >= field.least && value <= field.most, "field ", fields.full(name),
        " is out of range: ", value, " is not from ", field.least, " to ", field.most);
  return value;
}

std::vector<OtherFigure> read_others(JsonFields& fields, double unit, const HardwareField& field) {
  if (!fields.has("others")) return {};
  const nlohmann::json& list = fields.value("others");
  check(list.is_array(), "field ", fields.full("others"), " is not an array");
  std::vector<OtherFigure> others;
  for (const nlohmann::json& each : list) {
    JsonFields other(each, concat(field.name, ".others[", others.size(), "]."));
    others.push_back({.value = read_value(other, "value", unit, field),
                      .source = read_source(other),
                      .origin = other.string_or("origin", ""),
                      .note = other.string_or("note", "")});
    other.refuse_others();
  }
  return others;
}

Figure read_figure(JsonFields fields, const HardwareField& field) {
  const double unit = read_unit(fields, field);
  Figure figure{.value = read_value(fields, "value", unit, field),
                .source = read_source(fields),
                .origin = fields.string_or("origin", ""),
                .note = fields.string_or("note", ""),
                .others = read_others(fields, unit, field)};
  if (fields.has("up_to")) {
    figure.up_to = read_value(fields, "up_to", unit, field);
    check(*figure.up_to > figure.value, "field ", fields.full("up_to"), " is not above the value");
  }
  fields.refuse_others();
  return figure;
}

Hardware::Kind read_kind(JsonFields& fields) {
  const std::string kind = fields.string("kind");
  check(kind == "gpu" || kind == "cpu", "field 'kind' is neither gpu nor cpu");
  return kind == "gpu" ? Hardware::Kind::gpu : Hardware::Kind::cpu;
}

void read_lacks(JsonFields& fields, Hardware& hardware) {
  if (!fields.has("lacks")) return;
  hardware.lacks = fields.strings("lacks", kHardwareFields.size());
  for (const std::string& name : hardware.lacks) {
    const auto field = std::ranges::find_if(
        kHardwareFields, [&](const HardwareField& each) { return each.name == name; });
    check(field != kHardwareFields.end(), "field 'lacks' names something that is no field");
    check(!(hardware.*field->figure), "field 'lacks' names ", name, ", which is given");
  }
}

Hardware parse_hardware(const std::string& text, const fs::path& file) {
  const nlohmann::json document = parse_json(text);
  JsonFields fields(document);
  const std::string name = fields.string("name");
  Hardware hardware{.name = name,
                    .system = fields.string_or("system", name),
                    .title = fields.string("title"),
                    .kind = read_kind(fields),
                    .note = fields.string_or("note", ""),
                    .file = file};
  check(hardware.name == file.stem(), "field 'name' is not the file's name");
  for (const HardwareField& field : kHardwareFields)
    if (fields.has(field.name))
      hardware.*field.figure = read_figure(fields.object(field.name), field);
  check(hardware.memory_bytes_per_s.has_value(), "field 'memory_bandwidth' is missing");
  read_lacks(fields, hardware);
  fields.refuse_others();
  return hardware;
}

fs::path find_hardware(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return name;
  std::string lower = name, known;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const fs::path& file : list_hardware()) {
    if (file.stem() == name || file.stem() == lower) return file;
    known += concat(known.empty() ? "" : ", ", file.stem().string());
  }
  throw Error(ErrorCode::unknown_name, concat("hardware '", name, "' is unknown; there are ", known,
                                              ", or give a file's path"));
}

}  // namespace

const char* name_of(FigureSource source) {
  switch (source) {
    case FigureSource::datasheet:
      return "datasheet";
    case FigureSource::measured:
      return "measured";
    case FigureSource::measured_elsewhere:
      return "measured elsewhere";
    case FigureSource::calculated:
      return "calculated";
    case FigureSource::unverified:
      break;
  }
  return "unverified";
}

bool Hardware::has_no(std::string_view field) const {
  return std::ranges::find(lacks, field) != lacks.end();
}

Hardware read_hardware(const std::string& name) {
  constexpr std::size_t kMostBytes = 1 << 16;
  const fs::path file = find_hardware(name);
  const std::string text = read_text(file, kMostBytes);
  return with_name(file.string(), [&] { return parse_hardware(text, file); });
}

std::vector<fs::path> list_hardware() {
  const char* own = std::getenv("HEADWISE_HARDWARE");
  return data_files(data_folders("hardware", own == nullptr ? "" : own));
}

}  // namespace headwise
