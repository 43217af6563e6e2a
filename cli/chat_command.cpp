#include "cli/chat_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/conversation.h"
#include "cli/exit_status.h"
#include "cli/generation_output.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"

namespace headwise::cli {
namespace {

constexpr const char* kHelp =
    R"(A line is a message; the cache keeps what was said, so that only what is new is computed. An answer
ends early with Ctrl-C; the chat ends with Ctrl-C between answers, with Ctrl-D, or with an empty line.

Example:
  headwise chat model.gguf --kv-type i8)";

/// The next message; false where there is none.
bool read_message(std::string& message) {
  if (isatty(STDIN_FILENO) != 0) fmt::print(stderr, "> ");
  return std::getline(std::cin, message) && !message.empty();
}

void chat(const ModelFlags& flags) {
  const GenerateOptions options = read_options(flags);
  const Runner runner(flags.model);
  Session session = runner.session(options);
  Conversation conversation(runner, session, false);
  catch_interrupt();
  std::string message;
  while (read_message(message)) {
    const Generation generation = conversation.answer(message, options.max_new, events_for(true));
    fmt::print("\n");
    std::fflush(stdout);
    fmt::print(stderr, "[{}]\n", summary_of(generation));
    if (generation.check && !generation.check->passed()) throw CLI::RuntimeError(kFailed);
    if (generation.finish == Finish::stopped) catch_interrupt();  // the answer's end alone
  }
  if (interrupted()) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_chat_command(CLI::App& app) {
  const auto flags = std::make_shared<ModelFlags>();
  CLI::App* command = app.add_subcommand("chat", "Talk with a model, which keeps its cache");
  add_model_options(*command, *flags);
  command->footer(kHelp);
  command->callback([flags] { chat(*flags); });
}

}  // namespace headwise::cli
