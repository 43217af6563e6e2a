#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

/// `headwise bench`: times attention and prints it beside the machine's limits.
void add_bench_command(CLI::App& app);

}  // namespace headwise::cli
