#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "advisor/advice/workload.h"

namespace headwise::cli {

/// `--workload` and what overrides its file; empty or negative: not given.
struct WorkloadFlags {
  std::string workload;  ///< a name or a file
  std::string shared_prefix, input, output;
  std::int64_t turns = -1, concurrency = -1;
  double reuse = -1.0;
  double ttft_ms = -1.0, tpot_ms = -1.0;
};

void add_workload_options(CLI::App& command, WorkloadFlags& flags);

/// Absent without `--workload`. Throws Error for a file that cannot be read or is out of range,
/// CLI::ValidationError for flags.
std::optional<Workload> asked_workload(const WorkloadFlags& flags);

}  // namespace headwise::cli
