#pragma once

#include <string>

#include "bench/row.h"

namespace headwise::bench {

/// The report for people: the device, its limits, and a line a row under the heads of the columns.
std::string format_table(const BenchReport& report);

}  // namespace headwise::bench
