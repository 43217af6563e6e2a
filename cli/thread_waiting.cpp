#include "cli/thread_waiting.h"

#include <unistd.h>

#include <cstdlib>

namespace headwise::cli {
namespace {

constexpr const char* kSpins =
    "2000";  // some microseconds: enough for threads that are about to arrive

}  // namespace

void keep_threads_from_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", kSpins, 1);
  execv("/proc/self/exe", argv);  // returns only where it cannot; then threads spin
}

}  // namespace headwise::cli
