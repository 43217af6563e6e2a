#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "cli/backends_command.h"
#include "cli/bench_command.h"
#include "cli/chat_command.h"
#include "cli/check_command.h"
#include "cli/codesign_command.h"
#include "cli/environment.h"
#include "cli/exit_status.h"
#include "cli/inspect_command.h"
#include "cli/log_setup.h"
#include "cli/progress.h"
#include "cli/run_command.h"
#include "cli/standard_streams.h"
#include "cli/thread_waiting.h"
#include "headwise/error.h"
#include "headwise/machine.h"
#include "headwise/version.h"

namespace headwise::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  headwise backends --shape q32:kv8:d128:f8
  headwise bench decode --contexts 4k,32k --batch 8
  headwise chat model.gguf
  headwise COMMAND --help

Exit status: 0 done, 1 failed, 2 wrong usage, 3 not possible on this machine.)";

std::string gpus() {
  const Machine& machine = this_machine();
  std::string text;
  for (const GpuInfo& gpu : machine.gpus) text += (text.empty() ? "" : ", ") + to_string(gpu);
  return machine.gpus.empty() ? "none: " + machine.no_gpu : text;
}

std::string version_text() {
  return fmt::format(
      "headwise {} (revision {})\ninstruction sets: {}\nCUDA architectures: {}\nGPUs: {}",
      version(), revision(), instruction_sets(this_machine().cpu), cuda_architectures(), gpus());
}

void complain(std::string_view text) {
  clear_progress();
  // One line, whatever the text: scripts read errors line by line.
  std::string line(text.substr(0, text.find_last_not_of('\n') + 1));
  for (char& c : line)
    if (c == '\n') c = ' ';
  std::fputs(fmt::format("headwise: {}\n", line).c_str(), stderr);
}

/// CLI11 takes an unknown command for a stray argument of none.
void check_command(const CLI::App& app, int argc, char** argv) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (argc > 1 && command->get_name() == argv[1]) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  if (argc > 1 && argv[1][0] == '-') return;
  throw Error(ErrorCode::unknown_name,
              fmt::format("{}; there are {} (see headwise --help)",
                          argc > 1 ? fmt::format("unknown command '{}'", argv[1])
                                   : std::string("a command is required"),
                          names));
}

int parse_and_run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request, std::cout, std::cerr);
  } catch (const CLI::RuntimeError& ended) {  // a command that has said all
    flush_stdout();
    return ended.get_exit_code();
  } catch (const CLI::ParseError& error) {
    complain(fmt::format("{} (see headwise --help)", error.what()));
    return kWrongUsage;
  }
  flush_stdout();
  return kDone;
}

}  // namespace

int run(int argc, char** argv) {
  secure_standard_streams();
  send_logs_to_stderr();
  try {
    CLI::App app("Headwise: an exact attention engine and bench for long-context inference.",
                 "headwise");
    app.set_version_flag("--version", version_text,
                         "Version, instruction sets, CUDA architectures, GPUs");
    app.footer(kExamples);
    app.require_subcommand(1);
    add_backends_command(app);
    add_bench_command(app);
    add_inspect_command(app);
    add_codesign_command(app);
    add_run_command(app);
    add_chat_command(app);
    add_check_command(app);
    warn_of_unknown_variables();
    check_command(app, argc, argv);
    return parse_and_run(app, argc, argv);
  } catch (const Error& error) {
    complain(error.what());
    return exit_status(error.code());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return kFailed;
}

}  // namespace headwise::cli

int main(int argc, char** argv) {
  headwise::cli::keep_threads_from_spinning(argv);
  return headwise::cli::run(argc, argv);
}
