#pragma once

#include <omp.h>

#include "core/threads.h"

namespace headwise {

/// `wanted`, or for 0 all that the process may run on.
inline int threads_or_all(int wanted) { return wanted > 0 ? wanted : available_threads(); }

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
