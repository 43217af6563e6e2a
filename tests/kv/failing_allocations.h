#pragma once

namespace headwise {

/// While it lives, `operator new` fails in this thread: at its n-th call, or from that one on. One
/// program has it for all its calls, so that tests with it need one of their own.
class FailingAllocations {
 public:
  enum class Mode { once, from_then_on };

  FailingAllocations(int n, Mode mode);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  static int failed();  ///< calls that failed since the last one was made
};

}  // namespace headwise
