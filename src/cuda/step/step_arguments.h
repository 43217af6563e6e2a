#pragma once

#include "cuda/schedule/device_schedule.h"
#include "cuda/step/kv_tensors.h"
#include "cuda/step_args.h"
#include "headwise/plan.h"

namespace headwise::cuda {

/// What a kernel is told of a plan's step: kept from update to update, completed for every run.
class StepArguments {
 public:
  StepArguments() = default;
  StepArguments(const AttentionShape& shape, const StepBatch& step, const DeviceSchedule& schedule);

  /// For one layer. The workspace's pointers are the caller's to set.
  StepArgs of_run(const AttentionShape& shape, const RunArgs& args, const KvTensors& kv) const;

 private:
  StepArgs args_;
  bool pairs_q_ = false;
  bool chunks_q_ = false;
  bool pairs_out_ = false;
  bool chunks_out_ = false;
};

}  // namespace headwise::cuda
