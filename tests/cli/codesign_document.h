#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/run_program.h"

namespace headwise::cli {

using Json = nlohmann::json;

/// A file of tests/data/configs.
inline std::string config(const std::string& name) {
  return std::string(HEADWISE_CONFIGS) + "/" + name + ".json";
}

/// The document of `headwise codesign`, which succeeds and complains of nothing.
inline Json advice(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "codesign");
  arguments.emplace_back("--json");
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.status == 0 ? Json::parse(outcome.out) : Json();
}

/// One of its inputs.
inline Json input(const Json& document, const std::string& name) {
  for (const Json& each : document["inputs"])
    if (each["name"] == name) return each;
  ADD_FAILURE() << "no input " << name;
  return {};
}

}  // namespace headwise::cli
