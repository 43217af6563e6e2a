#include "bench/peer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/check.h"

namespace headwise::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestAnswer = 64 << 20;  // bytes
constexpr int kLookAtStopMs = 100;
constexpr int kNotStarted = 127;  // as shells have it

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::not_possible, why); }

/// The environment of a peer. GOMP_SPINCOUNT is this program's own wish, not the peer's.
std::vector<std::string> environment_of_peer(int threads) {
  std::vector<std::string> variables{concat("OMP_NUM_THREADS=", threads),
                                     "PYTHONDONTWRITEBYTECODE=1"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with("OMP_NUM_THREADS=") && !variable.starts_with("GOMP_SPINCOUNT="))
      variables.emplace_back(variable);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, where only async-signal-safe functions may be called.
[[noreturn]] void become_peer(int socket, int complaints, pid_t parent, char* const* arguments,
                              char* const* environment) {
  // Ctrl-C is for bench, which then ends its peers; so is the end of bench, however it comes.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);
  // Where memory runs out, a peer goes first.
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && write(score, "1000", 4) < 0) close(score);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  dup2(complaints, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(kNotStarted);
}

}  // namespace

struct PeerProcess::Deadline {
  Clock::time_point end;
  double seconds;
  const std::function<bool()>& stop;
};

PeerProcess::PeerProcess(const std::vector<std::string>& command, int threads) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = environment_of_peer(threads);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(concat("no socket for a peer: ", std::strerror(errno)));
  complaints_ = memfd_create("peer-stderr", MFD_CLOEXEC);
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0)
    become_peer(ends[1], complaints_, parent, argument_pointers.data(),
                environment_pointers.data());
  close(ends[1]);
  socket_ = ends[0];
  if (child_ > 0) return;
  const int why = errno;
  close(socket_);
  close(complaints_);
  fail(concat("no process for a peer: ", std::strerror(why)));
}

PeerProcess::~PeerProcess() {
  close(socket_);
  if (child_ > 0) {
    if (kill(-child_, SIGKILL) != 0) kill(child_, SIGKILL);  // it may not have its group yet
    waitpid(child_, nullptr, 0);
  }
  close(complaints_);
}

nlohmann::json PeerProcess::ask(const nlohmann::json& request, double timeout_s,
                                const std::function<bool()>& stop) {
  timed_out_ = false;
  const auto span =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  const Deadline deadline{Clock::now() + span, timeout_s, stop};
  send(request.dump() + "\n", deadline);
  const std::string line = receive(deadline);
  nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
  if (!answer.is_object())
    fail(concat("it answered no JSON: ",
                line.substr(0, std::min<std::size_t>(60, line.find('\n')))));
  return answer;
}

/// Until the socket is ready for `events`.
void PeerProcess::await(short events, const Deadline& deadline) {
  for (;;) {
    if (deadline.stop()) fail("interrupted");
    pollfd ready{socket_, events, 0};
    if (poll(&ready, 1, kLookAtStopMs) > 0) return;
    if (Clock::now() < deadline.end) continue;
    timed_out_ = true;
    fail(concat("no answer in ", deadline.seconds, " s"));
  }
}

void PeerProcess::send(const std::string& line, const Deadline& deadline) {
  for (std::size_t sent = 0; sent < line.size();) {
    await(POLLOUT, deadline);
    const ssize_t count =
        ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    if (count < 0 && errno != EAGAIN && errno != EINTR) tell_end();
  }
}

std::string PeerProcess::receive(const Deadline& deadline) {
  std::string line;
  std::array<char, 65536> buffer{};
  while (line.empty() || line.back() != '\n') {
    await(POLLIN, deadline);
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) line.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) tell_end();
    if (line.size() > kLongestAnswer) fail("its answer does not end");
  }
  line.pop_back();
  return line;
}

void PeerProcess::quit() noexcept {
  constexpr std::string_view kQuit = "{\"do\": \"quit\"}\n";
  ::send(socket_, kQuit.data(), kQuit.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  wait_for_end(20);
}

/// Looks so many times, 50 ms apart, whether it has ended; its status, or -1 where it has not.
int PeerProcess::wait_for_end(int tries) noexcept {
  for (int status = 0; child_ > 0 && tries > 0; --tries) {
    if (waitpid(child_, &status, WNOHANG) == child_) {
      child_ = -1;
      return status;
    }
    usleep(50'000);
  }
  return -1;
}

/// It closed its socket: throws how it ended. It may still be on its way out, or go on.
void PeerProcess::tell_end() {
  const int status = wait_for_end(20);
  if (status < 0) fail("it closed its output");
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotStarted) fail("it could not be started");
  const std::string complaint = last_complaint();
  const std::string how = WIFSIGNALED(status)
                              ? concat("it was ended by signal ", WTERMSIG(status))
                              : concat("it ended with exit status ", WEXITSTATUS(status));
  fail(complaint.empty() ? how : concat(how, ": ", complaint));
}

/// The last line of its stderr.
std::string PeerProcess::last_complaint() const {
  std::array<char, 4096> buffer{};
  const off_t size = lseek(complaints_, 0, SEEK_END);
  const off_t from =
      size > static_cast<off_t>(buffer.size()) ? size - static_cast<off_t>(buffer.size()) : 0;
  const ssize_t count = pread(complaints_, buffer.data(), buffer.size(), from);
  std::string text(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  text.erase(text.find_last_not_of(" \n\r") + 1);
  text.erase(0, text.find_last_of('\n') + 1);
  return text.substr(0, 200);
}

}  // namespace headwise::bench
