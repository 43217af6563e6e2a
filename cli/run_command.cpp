#include "cli/run_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/conversation.h"
#include "cli/exit_status.h"
#include "cli/generation_output.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/turns.h"
#include "core/check.h"

namespace headwise::cli {
namespace {

struct Flags {
  ModelFlags model;
  std::string prompt;
  std::string prompt_file;
  std::string turns;
  bool raw = false;
  bool json = false;
};

constexpr const char* kHelp =
    R"(Decoding is greedy unless --temperature is above 0. Ctrl-C ends the run after its step, with the text and the numbers that there
are; the exit status is then 130. With --check it is 1 where a row is out of its bound.

--turns FILE: {"turns": [text, ...]} is a conversation, each text behind the answers before it; with
"document": path, each text is a question of its own on that document. Turns share one cache: what an
earlier one began with is not computed again, and the numbers say how much that was. The table, and
what the JSON has outside of "turns", are the first turn's times and text; memory, backends, the check
and the end are those of the whole run.

Examples:
  headwise run model.gguf --prompt "What is attention?"
  headwise run model.gguf --prompt-file question.txt --max-new 64 --json
  headwise run model.gguf --turns questions.json --kv-type f8)";

std::vector<Generation> run_turns(Runner& runner, const Flags& flags, const Turns& turns,
                                  const GenerateOptions& options) {
  Session session = runner.session(options);
  Conversation conversation(runner, session, flags.raw);
  std::vector<Generation> generations;
  for (const std::string& text : turns.texts) {
    if (!flags.json) fmt::print("> {}\n", text);
    const bool on_document = !turns.document.empty();
    if (on_document) conversation.begin_anew();
    generations.push_back(conversation.answer(on_document ? turns.document + "\n\n" + text : text,
                                              options.max_new, events_for(!flags.json)));
    if (!flags.json) fmt::print("\n[{}]\n\n", summary_of(generations.back()));
    if (generations.back().finish == Finish::stopped) break;
  }
  return generations;
}

void run(const Flags& flags) {
  // Mistakes must not cost the time to load a model.
  GenerateOptions options = read_options(flags.model);
  options.raw = flags.raw;
  Turns turns;
  if (!flags.turns.empty()) {
    turns = read_turns(flags.turns);
  } else {
    options.prompt = flags.prompt_file.empty() ? flags.prompt : read_text(flags.prompt_file);
    check(!options.prompt.empty(), "the prompt is empty");
  }

  Runner runner(flags.model.model, read_model_options(flags.model));
  catch_interrupt();
  std::vector<Generation> generations;
  if (turns.texts.empty())
    generations.push_back(runner.generate(options, events_for(!flags.json)));
  else
    generations = run_turns(runner, flags, turns, options);
  if (flags.json)
    fmt::print("{}\n", json_of(generations).dump(2));
  else
    print_table(generations);
  const Generation& last = generations.back();
  if (last.check && !last.check->passed()) throw CLI::RuntimeError(kFailed);
  if (last.finish == Finish::stopped) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("run", "Answer a prompt with a model, and say what it took");
  CLI::Option_group* source = command->add_option_group("prompt");
  source->add_option("--prompt", flags->prompt, "the prompt");
  source->add_option("--prompt-file", flags->prompt_file, "its file; - is standard input");
  source->add_option("--turns", flags->turns, "a file of several prompts (see below)");
  source->require_option(1);

  add_model_options(*command, flags->model);
  command->add_flag("--raw", flags->raw,
                    "leave the chat template out; the prompt may spell special tokens");
  command->add_flag("--json", flags->json, "one JSON document on standard output, no table");
  command->footer(kHelp);
  command->callback([flags] { run(*flags); });
}

}  // namespace headwise::cli
