#pragma once

#include <csignal>

namespace headwise {

/// Holds signals back from this thread and its OpenMP workers while it lives; they are delivered
/// afterwards. Code that oneDNN 2.6 generates for matrix products points the stack register into a
/// small buffer on the heap: a signal handler that ran there would write over what lies below.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace headwise
