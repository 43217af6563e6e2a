#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "advisor/time/estimate.h"

namespace headwise::json_cells {

using Json = nlohmann::ordered_json;

constexpr double kMsPerSecond = 1e3;

/// null where it is not known.
inline Json ms(const Estimate& estimate) {
  return estimate ? Json(estimate.seconds * kMsPerSecond) : Json(nullptr);
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace headwise::json_cells
