#pragma once

#include <nlohmann/json_fwd.hpp>

#include "advisor/device/hardware.h"

namespace headwise {

/// As read_hardware reads it, under `name`; each number in its field's largest unit that leaves it
/// at least 1.
nlohmann::ordered_json hardware_json(const Hardware& hardware, const std::string& name);

}  // namespace headwise
