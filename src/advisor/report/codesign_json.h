#pragma once

#include <nlohmann/json.hpp>

#include "advisor/report/codesign.h"

namespace headwise {

/// The document of `headwise codesign --json` (docs/codesign.md): model, hardware, inputs,
/// contexts, crossover, roofline, plans, workload, provenance. Times are ms; what is not known is
/// null.
nlohmann::ordered_json codesign_json(const CodesignQuestion& question, const CodesignReport& report,
                                     const DeviceTimes& times);

nlohmann::ordered_json to_json(const ModelDescription& model);
nlohmann::ordered_json to_json(const Hardware& hardware);

/// What both phases rest on. They weigh the same, or a prefill's seconds would hide what a decode's
/// times rest on; the wider error; the one that is unknown.
Estimate label_of(const Estimate& prefill, const Estimate& decode);

/// {ms, source, error}; nulls and why_not where the time is unknown.
nlohmann::ordered_json to_json(const Estimate& estimate);

}  // namespace headwise
