#pragma once

#include <nlohmann/json.hpp>

#include "advisor/advice/guideline.h"
#include "advisor/advice/sweep.h"

namespace headwise {

/// {name, verdict, reason, gain, gains, check}.
nlohmann::ordered_json to_json(const Guideline& guideline);

/// {parameter, context, rows}.
nlohmann::ordered_json to_json(const Sweep& sweep);

}  // namespace headwise
