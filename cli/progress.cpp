#include "cli/progress.h"

#include <sys/ioctl.h>
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

/// A line that wraps could not be wiped.
std::string_view cut(std::string_view line) {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? line.substr(0, size.ws_col - 1U) : line;
}

}  // namespace

void show_progress(std::string_view line) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal) return;
  write(std::string("\r\033[K").append(cut(line)));
  shown = true;
}

void clear_progress() {
  if (shown) write("\r\033[K");
  shown = false;
}

}  // namespace headwise::cli
