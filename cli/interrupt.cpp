#include "cli/interrupt.h"

#include <csignal>

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

bool interrupted() { return flag != 0; }
bool told_to_end() { return flag == SIGTERM; }

}  // namespace headwise::cli
