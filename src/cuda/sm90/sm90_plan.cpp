#include "cuda/sm90/sm90_plan.h"

#include <cstdint>

#include "core/check.h"
#include "cuda/runtime/check.h"
#include "cuda/schedule/device_schedule.h"
#include "cuda/schedule/shares.h"
#include "cuda/sm90/mapped_keys.h"
#include "cuda/step/step_arguments.h"

namespace headwise::cuda::sm90 {
namespace {

/// A block a multiprocessor: its copies fill the memory's pipeline, and more parts would only have
/// to be merged.
int blocks_of(const KernelFunctions& functions, int device, const std::string& name) {
  check_call(cudaSetDevice(device), name);
  int each = 0;
  check_call(functions.prepare(&each), name);
  if (each < 1)
    throw Error(ErrorCode::not_possible, concat(name, ": no block fits a multiprocessor"));
  int multiprocessors = 0;
  check_call(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             name);
  return multiprocessors;
}

ShareRules rules_for(const KernelRow& row, const Problem& problem, int blocks) {
  ShareRules rules{.blocks = blocks, .rows = row.rows, .keys = row.keys};
  if (row.format == KvFormat::f8) rules.part_cost *= 2;  // by measurement
  rules.blocks = most_blocks(problem.shape, problem.extent, rules);
  return rules;
}

class Sm90Plan final : public Plan {
 public:
  Sm90Plan(std::string_view backend, const Problem& problem, const Support& support,
           const KernelRow& row)
      : Plan(backend, support.row, problem.shape, problem.extent),
        functions_(row.functions),
        device_(problem.device.index),
        stream_(static_cast<cudaStream_t>(problem.options.stream)),
        rules_(rules_for(row, problem, blocks_of(functions_, device_, support.row))),
        schedule_(device_, share_bounds(problem.shape, problem.extent.requests,
                                        problem.extent.tokens, rules_)) {
    const std::int64_t row_bytes = (shape().head_dim_v + 2) * std::int64_t{sizeof(float)};
    set_workspace_bytes(rules_.most_part_rows() * row_bytes);
  }

  void run(const RunArgs& args) override {
    const auto& keys = static_cast<const MappedKeys&>(*args.kv);
    StepArgs step = arguments_.of_run(shape(), args, keys);
    step.part_sums = static_cast<float*>(args.workspace);
    step.part_stats =
        reinterpret_cast<float2*>(step.part_sums + rules_.most_part_rows() * shape().head_dim_v);
    check_call(cudaSetDevice(device_), row());
    check_call(
        functions_.launch(keys.maps(), step, rules_.blocks, static_cast<cudaStream_t>(args.stream)),
        row());
  }

 private:
  void take(const StepBatch& step) override {
    ShareRules rules = rules_;
    const DeviceLengths& lengths = step.device_lengths;
    rules.narrows_slots = (step.layout == KvLayout::packed || step.tables.positions == nullptr) &&
                          lengths.q_lens == nullptr && lengths.kv_lens == nullptr &&
                          lengths.q_start == nullptr;
    make_shares(shape(), step, rules, laid_out_);
    check_call(cudaSetDevice(device_), row());
    schedule_.write(laid_out_, stream_);
    arguments_ = StepArguments(shape(), step, schedule_);
  }

  KernelFunctions functions_;
  int device_;
  cudaStream_t stream_;
  ShareRules rules_;
  DeviceSchedule schedule_;
  Schedule laid_out_;
  StepArguments arguments_;
};

}  // namespace

std::unique_ptr<Plan> make_sm90_plan(std::string_view backend, const Problem& problem,
                                     const Support& support, const KernelRow& row) {
  return std::make_unique<Sm90Plan>(backend, problem, support, row);
}

}  // namespace headwise::cuda::sm90
