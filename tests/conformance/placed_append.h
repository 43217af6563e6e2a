#pragma once

#include "headwise/backend.h"
#include "tests/conformance/device_copy.h"

namespace headwise::conformance {

/// An append where a backend wants it, as PlacedStep is a step.
class PlacedAppend {
 public:
  /// `args` is of the caller's memory, which must outlive it.
  PlacedAppend(const Backend& backend, const AttentionShape& shape, const StepBatch& step,
               const AppendArgs& args);

  /// Appends; what was written is in the caller's cache and count afterwards. Throws
  /// std::runtime_error where memory beside them was written, DeviceFault where the GPU failed.
  void run();

 private:
  void copy_to_device();

  const Backend& backend_;
  AttentionShape shape_;
  StepBatch step_;
  AppendArgs args_;
  bool on_device_;
  DeviceCopy copy_;
};

}  // namespace headwise::conformance
