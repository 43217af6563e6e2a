#pragma once

#include <nlohmann/json.hpp>

#include "advisor/report/codesign.h"

namespace headwise {

/// The document of `headwise codesign --json` (docs/codesign.md): model, hardware, inputs,
/// contexts, crossover, roofline, provenance. Times are ms; what is not known is null.
nlohmann::ordered_json codesign_json(const CodesignQuestion& question, const CodesignReport& report,
                                     const DeviceTimes& times);

nlohmann::ordered_json to_json(const ModelDescription& model);
nlohmann::ordered_json to_json(const Hardware& hardware);

/// {ms, source, error}; nulls and why_not where the time is unknown.
nlohmann::ordered_json to_json(const Estimate& estimate);

}  // namespace headwise
