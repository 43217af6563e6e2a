#pragma once

#include <CLI/CLI.hpp>

namespace headwise::cli {

/// `headwise bench model MODEL`.
void add_bench_model_command(CLI::App& bench);

}  // namespace headwise::cli
