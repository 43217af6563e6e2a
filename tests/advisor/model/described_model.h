#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "advisor/model/model_reader.h"
#include "core/check.h"

namespace headwise {

/// A file of tests/data/configs.
inline nlohmann::json config_json(const std::string& name) {
  std::ifstream file(std::string(HEADWISE_CONFIGS) + "/" + name + ".json");
  check(file.good(), "no config ", name);
  return nlohmann::json::parse(file);
}

inline ModelDescription description_of(const nlohmann::json& config) {
  return read_model_description(config.dump());
}

inline ModelDescription described(const std::string& name) {
  return description_of(config_json(name));
}

}  // namespace headwise
