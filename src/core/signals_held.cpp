#include "core/signals_held.h"

#include <omp.h>

#include <initializer_list>

namespace headwise {
namespace {

/// All signals but those that a thread brings upon itself.
sigset_t signals_from_outside() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&set, fault);
  }
  return set;
}

/// Workers keep their mask and do nothing but compute, so that once is enough. A worker that is
/// made while its maker holds signals back does so from the start.
void hold_in_workers(const sigset_t& signals) {
  thread_local int held_in = 1;  // threads of the largest team so far
  const int threads = omp_get_max_threads();
  if (threads <= held_in) return;
#pragma omp parallel
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  held_in = threads;
}

}  // namespace

SignalsHeld::SignalsHeld() {
  static const sigset_t signals = signals_from_outside();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
  hold_in_workers(signals);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace headwise
