#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace headwise::cli {
namespace {

bool shown = false;

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void show_progress(std::string_view line) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal) return;
  write(std::string("\r\033[K").append(line));
  shown = true;
}

void clear_progress() {
  if (shown) write("\r\033[K");
  shown = false;
}

}  // namespace headwise::cli
