#pragma once

#include <nlohmann/json.hpp>

#include "advisor/report/codesign.h"

namespace headwise {

/// `plans` of the document: an object a plan, best first (docs/plans.md).
nlohmann::ordered_json plans_json(const CodesignQuestion& question, const CodesignReport& report,
                                  const Hardware& hardware);

/// `workload` of the document (docs/workloads.md); null if none was asked about.
nlohmann::ordered_json workload_json(const CodesignQuestion& question,
                                     const CodesignReport& report);

}  // namespace headwise
