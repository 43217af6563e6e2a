#include "cli/interrupt.h"

#include <CLI/CLI.hpp>
#include <csignal>

#include "cli/exit_status.h"
#include "core/log.h"

namespace headwise::cli {
namespace {

volatile std::sig_atomic_t flag = 0;

void set_flag(int signal) { flag = signal; }

}  // namespace

void catch_interrupt() {
  flag = 0;
  struct sigaction action {};
  action.sa_handler = set_flag;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void leave_interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void end_interrupted(const Error& error) {
  log(LogLevel::warning, error.what());
  throw CLI::RuntimeError(kInterrupted);
}

bool interrupted() { return flag != 0; }
bool told_to_end() { return flag == SIGTERM; }

}  // namespace headwise::cli
