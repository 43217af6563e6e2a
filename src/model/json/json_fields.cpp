#include "model/json/json_fields.h"

#include <algorithm>

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {

JsonFields::JsonFields(const nlohmann::json& object, std::string prefix)
    : object_(&object), prefix_(std::move(prefix)) {
  const std::string name =
      prefix_.empty() ? "the file" : "field " + quoted_name(prefix_.substr(0, prefix_.size() - 1));
  check(object.is_object(), name, " is not a JSON object");
}

std::string JsonFields::full(const std::string& name) const { return quoted_name(prefix_ + name); }

bool JsonFields::has(const std::string& name) {
  asked_.insert(name);
  const auto found = object_->find(name);
  return found != object_->end() && !found->is_null();
}

const nlohmann::json& JsonFields::value(const std::string& name) {
  check(has(name), "field ", full(name), " is missing");
  return *object_->find(name);
}

int JsonFields::integer(const std::string& name, int least, int most) {
  const nlohmann::json& found = value(name);
  check(found.is_number_integer(), "field ", full(name), " is not an integer");
  // The parser stores negative ones as signed, all others as unsigned.
  check(found.is_number_unsigned(), "field ", full(name), " is negative");
  const auto number = found.get<std::uint64_t>();
  check(number >= static_cast<std::uint64_t>(least) && number <= static_cast<std::uint64_t>(most),
        "field ", full(name), " is out of range: ", number);
  return static_cast<int>(number);
}

int JsonFields::count(const std::string& name, int most) { return integer(name, 1, most); }

int JsonFields::count_or(const std::string& name, int most, int otherwise) {
  return has(name) ? count(name, most) : otherwise;
}

double JsonFields::number(const std::string& name, double least) {
  const nlohmann::json& found = value(name);
  check(found.is_number(), "field ", full(name), " is not a number");
  const auto number = found.get<double>();
  check(number >= least && number <= 1e12, "field ", full(name), " is out of range: ", number);
  return number;
}

double JsonFields::number_or(const std::string& name, double least, double otherwise) {
  return has(name) ? number(name, least) : otherwise;
}

bool JsonFields::boolean_or(const std::string& name, bool otherwise) {
  if (!has(name)) return otherwise;
  const nlohmann::json& found = value(name);
  check(found.is_boolean(), "field ", full(name), " is neither true nor false");
  return found.get<bool>();
}

std::string JsonFields::string(const std::string& name) {
  const nlohmann::json& found = value(name);
  check(found.is_string(), "field ", full(name), " is not a string");
  return found.get<std::string>();
}

std::string JsonFields::string_or(const std::string& name, const std::string& otherwise) {
  return has(name) ? string(name) : otherwise;
}

std::vector<std::string> JsonFields::strings(const std::string& name, std::size_t most) {
  const nlohmann::json& found = value(name);
  check(found.is_array() && found.size() <= most, "field ", full(name),
        " is not an array of at most ", most, " strings");
  std::vector<std::string> strings;
  for (const nlohmann::json& each : found) {
    check(each.is_string(), "field ", full(name), " holds something other than strings");
    strings.push_back(each.get<std::string>());
  }
  return strings;
}

JsonFields JsonFields::object(const std::string& name) {
  return JsonFields(value(name), prefix_ + name + ".");
}

std::vector<std::string> JsonFields::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_->items()) names.push_back(name);
  return names;
}

void JsonFields::refuse_others(std::span<const std::string_view> harmless) const {
  for (const auto& [name, value] : object_->items()) {
    const bool known = asked_.contains(name) || std::ranges::find(harmless, name) != harmless.end();
    check(known || value.is_null(), "field ", full(name), " is not supported");
  }
}

}  // namespace headwise
