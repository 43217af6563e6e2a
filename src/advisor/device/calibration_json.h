#pragma once

#include <nlohmann/json_fwd.hpp>

#include "advisor/device/calibration.h"

namespace headwise {

/// As Calibration::read reads it; a name that is empty is left out, and is then the file's. Tables
/// of a query have the same axes and the same fixed names.
nlohmann::ordered_json calibration_json(const Calibration& calibration);

}  // namespace headwise
