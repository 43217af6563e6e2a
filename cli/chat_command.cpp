#include "cli/chat_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <span>
#include <string>

#include "cli/conversation.h"
#include "cli/exit_status.h"
#include "cli/generation_output.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "core/check.h"

namespace headwise::cli {
namespace {

constexpr const char* kHelp =
    R"(A line is a message; the cache keeps what was said, so that little but what is new is computed. An
answer ends early with Ctrl-C; the chat ends with Ctrl-C between answers, with Ctrl-D, or with an empty line.

Example:
  headwise chat model.gguf --kv-type i8)";

/// The next message; false where there is none, or the user interrupts.
bool read_message(std::string& message) {
  const bool at_terminal = isatty(STDIN_FILENO) != 0;
  if (at_terminal) fmt::print(stderr, "> ");
  const bool is_there = std::getline(std::cin, message) && !message.empty() && !interrupted();
  if (at_terminal && !is_there) fmt::print(stderr, "\n");
  return is_there;
}

/// One message that does not fit is no reason to lose the conversation.
void answer(Conversation& conversation, const std::string& message, std::int64_t max_new) {
  try {
    const Generation generation = conversation.answer(message, max_new, events_for(true));
    clear_progress();
    fmt::print("\n");
    flush_stdout();
    fmt::print(stderr, "[{}]\n", summary_of(generation));
    if (generation.check && !generation.check->passed()) throw CLI::RuntimeError(kFailed);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
    clear_progress();
    fmt::print(stderr, "headwise: {}\n", error.what());
  }
}

void chat(const ModelFlags& flags) {
  const GenerateOptions options = read_options(flags);
  Runner runner(flags.model, read_model_options(flags));
  const ChatMessage any{.role = "user", .content = "any"};
  runner.encode(std::span(&any, 1));  // throws now where there is no template
  Session session = runner.session(options);
  Conversation conversation(runner, session, false);
  catch_interrupt();
  std::string message;
  while (read_message(message)) {
    answer(conversation, message, options.max_new);
    if (told_to_end()) break;
    catch_interrupt();  // Ctrl-C has ended one answer alone
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
