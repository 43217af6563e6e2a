#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

/// `headwise backends`: every backend, what it can do of a shape on this machine, and why not.
void add_backends_command(CLI::App& app);

}  // namespace headwise::cli
