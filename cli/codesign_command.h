#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

void add_codesign_command(CLI::App& app);

}  // namespace headwise::cli
