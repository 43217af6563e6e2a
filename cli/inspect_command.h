#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

/// headwise inspect: what a model's attention is, without running it.
void add_inspect_command(CLI::App& app);

}  // namespace headwise::cli
