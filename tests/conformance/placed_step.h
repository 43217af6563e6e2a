#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "headwise/backend.h"
#include "tests/conformance/device_copy.h"

namespace headwise::conformance {

/// A kernel broke the GPU for the rest of the process: whatever ran is to blame.
struct DeviceFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Waits for the GPU. Throws DeviceFault with what failed.
void finish_on_device();

/// Memory where a backend runs that is 64-byte aligned and NaN all over, with a guard behind it.
class Workspace {
 public:
  Workspace(const Backend& backend, std::int64_t bytes);
  void* data();
  void poison();
  bool guard_intact() const;

 private:
  std::int64_t bytes_;
  std::int64_t guard_ = 0;              ///< bytes
  std::vector<std::byte> storage_;      ///< of a CPU backend
  std::unique_ptr<DeviceBlock> block_;  ///< of a GPU's
};

/// A step where a backend wants it: in the caller's memory for the CPU's backends, in copies on
/// cuda:0 for those of GPUs. The caller's memory must outlive it.
class PlacedStep {
 public:
  /// `args` holds sinks and scales, and other buffers than the step's where those are wanted.
  PlacedStep(const Backend& backend, const AttentionShape& shape, const StepBatch& step,
             const KvView& kv, const RunArgs& args);

  const StepBatch& step() const { return step_; }
  const KvView& kv() const { return kv_; }
  RunArgs& args() { return args_; }

  /// Poisons the workspace and runs a plan that took step(). What is in the caller's outputs is
  /// what the run finds there; what it wrote is in them afterwards. Throws std::runtime_error where
  /// memory beside the outputs or the workspace was written, DeviceFault where the GPU failed.
  void run(Plan& plan, const KvBinding& binding, Workspace& workspace);

 private:
  void copy_to_device(const AttentionShape& shape);

  bool on_device_;
  StepBatch step_;
  KvView kv_;
  RunArgs args_;
  DeviceCopy copy_;
};

}  // namespace headwise::conformance
