#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

/// `headwise run`: answers a prompt with a model. Exit status 1 where --check finds a row out of
/// its bound and 130 after Ctrl-C, in both cases with the text and the numbers that there are.
void add_run_command(CLI::App& app);

}  // namespace headwise::cli
