#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/tensor_memory.h"
#include "bench/workload.h"
#include "headwise/step_batch.h"

namespace headwise::bench {

/// A step to plan and not to run: without K and V, and q and out are not initialised, so that on
/// the CPU they take no memory. All views point in here.
class UnfilledStep {
 public:
  /// `gpu` null: on the CPU. Throws Error(not_possible).
  UnfilledStep(const AttentionShape& shape, const Workload& workload, int page_size, Gpu* gpu);
  UnfilledStep(const UnfilledStep&) = delete;
  UnfilledStep& operator=(const UnfilledStep&) = delete;

  const StepBatch& step() const { return step_; }

 private:
  Workload workload_;
  TensorMemory q_, out_;
  std::vector<std::int32_t> pages_;  // [requests, columns], in order
  std::shared_ptr<void> placed_;     // the same on the GPU
  StepBatch step_;
};

}  // namespace headwise::bench
