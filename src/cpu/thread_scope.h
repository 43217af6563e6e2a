#pragma once

#include <omp.h>

#include "headwise/machine.h"

namespace headwise {

/// CPU threads of a plan: what its options say, or all that the process may run on.
inline int plan_threads(int wanted) { return wanted > 0 ? wanted : this_machine().cpu.threads; }

/// OpenMP regions of the calling thread, oneDNN's too, use `threads` while this lives.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace headwise
