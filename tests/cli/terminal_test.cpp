#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/folder_test.h"
#include "tests/engine/tiny_models.h"

namespace headwise::cli {
namespace {

struct Seen {
  int status = -1;   ///< exit status; 128 + the number of the signal that ended it
  std::string text;  ///< all that the terminal was sent
};

/// Runs the program at a terminal of so many columns and, once it shows `then`, types `typed`.
Seen run_at_terminal(std::vector<std::string> arguments, unsigned short columns,
                     const std::string& then = "", const std::string& typed = "") {
  arguments.insert(arguments.begin(), HEADWISE_PROGRAM);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
  Seen seen;
  bool is_typed = typed.empty();
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t count = read(terminal, piece.data(), piece.size());
    if (count <= 0) break;
    seen.text.append(piece.data(), static_cast<std::size_t>(count));
    if (is_typed || seen.text.find(then) == std::string::npos) continue;
    is_typed = write(terminal, typed.data(), typed.size()) > 0;
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  seen.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return seen;
}

/// The longest of the lines that overwrite each other.
std::size_t longest_progress(const std::string& text) {
  const std::string wipe = "\r\x1b[K";
  std::size_t longest = 0;
  for (std::size_t at = text.find(wipe); at != std::string::npos;) {
    at += wipe.size();
    const std::size_t next = text.find(wipe, at);
    if (next == std::string::npos) break;
    longest = std::max(longest, next - at);
    at = next;
  }
  return longest;
}

class Terminal : public FolderTest {
 protected:
  std::string model() const {
    TinyModel tiny = llama_model();
    tiny.context = 512;
    return write("tiny.gguf", gguf_of(tiny));
  }
};

TEST_F(Terminal, ProgressIsNoWiderThanIt) {
  const std::vector<std::string> command{"codesign",  model(),      "--hardware",
                                         "local-cpu", "--contexts", "256"};
  const Seen narrow = run_at_terminal(command, 20);
  EXPECT_EQ(narrow.status, 0);
  EXPECT_GT(longest_progress(narrow.text), 10U);
  EXPECT_LE(longest_progress(narrow.text), 19U);
  EXPECT_GT(longest_progress(run_at_terminal(command, 200).text), 19U);
}

TEST_F(Terminal, CtrlCIsOneLineAndLeavesNoFile) {
  const std::string file = folder() + "/new.json";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"codesign", model(), "--hardware", "local-cpu", "--save-hardware",
                                 file},
        std::vector<std::string>{"bench", "model", model(), "--save", file}}) {
    const Seen seen = run_at_terminal(command, 100, "\x1b[K", "\x03");
    EXPECT_EQ(seen.status, 130) << seen.text;
    const std::size_t last = seen.text.rfind("\x1b[K");
    ASSERT_NE(last, std::string::npos);
    const std::string said = seen.text.substr(last + 3);
    EXPECT_EQ(said.find("headwise: warning: stopped before "), 0U) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
    EXPECT_FALSE(std::filesystem::exists(file));
  }
}

}  // namespace
}  // namespace headwise::cli
