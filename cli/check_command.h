#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

/// `headwise check`: whether the attention backend that a serving engine logged suits its GPU.
void add_check_command(CLI::App& app);

}  // namespace headwise::cli
