#pragma once

namespace CLI {
class App;
}

namespace headwise::cli {

/// `headwise chat`: a conversation, a line of standard input a message. Exit status 130 where it
/// ended by Ctrl-C.
void add_chat_command(CLI::App& app);

}  // namespace headwise::cli
