#pragma once

#include <string>

#include "advisor/report/codesign.h"

namespace headwise {

/// Tables for people, no line beyond 100 columns. Of many plans the best and those that split in
/// one way; empty for a single device.
std::string plans_text(const CodesignQuestion& question, const PlanTable& table);
std::string workload_text(const Workload& workload, const WorkloadAnswer& answer);

}  // namespace headwise
