#include "tests/cli/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace headwise::cli {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    read = ends[0];
    write = ends[1];
  }
};

/// In the child: never returns.
[[noreturn]] void become_program(std::vector<std::string> arguments, const ProgramOptions& options,
                                 const Pipe& out, const Pipe& err) {
  dup2(open(options.stdin_path.c_str(), O_RDONLY), STDIN_FILENO);
  dup2(err.write, STDERR_FILENO);
  const int target =
      options.stdout_path.empty() ? out.write : open(options.stdout_path.c_str(), O_WRONLY);
  dup2(target, STDOUT_FILENO);
  if (options.close_stdout) close(STDOUT_FILENO);
  for (const std::string& variable : options.environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  arguments.insert(arguments.begin(), HEADWISE_PROGRAM);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(HEADWISE_PROGRAM, pointers.data());
  _exit(127);
}

/// Appends what can be read; returns whether the stream goes on.
bool read_some(int stream, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(stream, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  const Pipe out;
  const Pipe err;
  const pid_t child = fork();
  if (child == 0) become_program(arguments, options, out, err);
  close(out.write);
  close(err.write);

  Outcome outcome;
  bool signalled = options.signal_after.empty();
  std::array<pollfd, 2> streams{{{out.read, POLLIN, 0}, {err.read, POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    poll(streams.data(), streams.size(), -1);
    if (streams[0].revents != 0 && !read_some(out.read, outcome.out)) streams[0].fd = -1;
    if (streams[1].revents != 0 && !read_some(err.read, outcome.err)) streams[1].fd = -1;
    for (pollfd& stream : streams) stream.revents = 0;
    if (signalled || outcome.err.find(options.signal_after) == std::string::npos) continue;
    kill(child, options.signal);
    signalled = true;
  }
  close(out.read);
  close(err.read);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace headwise::cli
