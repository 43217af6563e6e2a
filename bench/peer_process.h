#pragma once

#include <sys/types.h>

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace headwise::bench {

/// A child process that answers one line of JSON a request. It is killed with this object, and
/// dies with this process.
class PeerProcess {
 public:
  /// Starts `command`, whose first part is a path, with OMP_NUM_THREADS = threads. A program that
  /// does not exist shows at the first request. Throws Error(not_possible) where the system has no
  /// process or socket to give.
  PeerProcess(const std::vector<std::string>& command, int threads);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// The answer, an object. Throws Error(not_possible) with one clause where there is none: the
  /// process ended (with the last line of its stderr), wrote something else, took longer than
  /// `timeout_s`, or stop() said so. It is of no use afterwards.
  nlohmann::json ask(const nlohmann::json& request, double timeout_s,
                     const std::function<bool()>& stop);
  /// Asks it to end, and waits a little: one that has something to tidy up can.
  void quit() noexcept;
  bool timed_out() const { return timed_out_; }  ///< the last ask() ended so

 private:
  struct Deadline;
  void send(const std::string& line, const Deadline& deadline);
  std::string receive(const Deadline& deadline);
  void await(short events, const Deadline& deadline);
  int wait_for_end(int tries) noexcept;
  [[noreturn]] void tell_end();
  std::string last_complaint() const;

  pid_t child_ = -1;
  int socket_ = -1;
  int complaints_ = -1;  // what it writes to stderr
  bool timed_out_ = false;
};

}  // namespace headwise::bench
