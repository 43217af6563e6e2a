#pragma once

#include "headwise/error.h"

namespace headwise::cli {

/// Forgets an earlier interrupt. From now on the first Ctrl-C, and the first SIGTERM, only set a
/// flag, for long work to end in order; the second one ends the program.
void catch_interrupt();
bool interrupted();
void leave_interrupt();  ///< the next Ctrl-C ends the program; interrupted() stays
[[noreturn]] void end_interrupted(const Error& error);
/// Whether it was SIGTERM: the program is to end, not just what it is doing.
bool told_to_end();

/// Long work that asks interrupted() and then throws Error: the error is said in one line, and the
/// command ends with kInterrupted. Ctrl-C is then again what it was.
template <class Work>
auto unless_interrupted(const Work& work) {
  catch_interrupt();
  try {
    auto result = work();
    leave_interrupt();
    return result;
  } catch (const Error& error) {
    leave_interrupt();
    if (interrupted()) end_interrupted(error);
    throw;
  }
}

}  // namespace headwise::cli
