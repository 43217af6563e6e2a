#pragma once

#include <string>
#include <vector>

namespace headwise::cli {

struct ProgramOptions {
  std::vector<std::string> environment;  ///< "NAME=value", beside the test's own
  std::string stdout_path;               ///< where stdout goes instead; empty: it is captured
  bool close_stdout = false;
  std::string stdin_path = "/dev/null";
  /// `signal` is sent once stderr holds this text, if it is not empty.
  std::string signal_after;
  int signal = 0;
};

struct Outcome {
  int status = -1;  ///< exit status; 128 + the number of the signal that ended it
  std::string out;
  std::string err;
};

/// Runs the built program to its end, without a terminal.
Outcome run_program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace headwise::cli
