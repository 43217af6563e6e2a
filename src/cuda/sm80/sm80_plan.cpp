#include "cuda/sm80/sm80_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/check.h"
#include "cuda/runtime/check.h"
#include "cuda/schedule/device_schedule.h"
#include "cuda/schedule/prefix_schedule.h"
#include "cuda/step/aside_bytes.h"
#include "cuda/step/kv_tensors.h"
#include "cuda/step/prefix_pass.h"
#include "cuda/step/step_arguments.h"

namespace headwise::cuda::sm80 {
namespace {

/// Blocks that a device runs at the same time.
int resident_blocks(const KernelFunctions& functions, int device, const std::string& name) {
  check_call(cudaSetDevice(device), name);
  int each = 0;
  check_call(functions.prepare(&each), name);
  if (each < 1)
    throw Error(ErrorCode::not_possible, concat(name, ": no block fits a multiprocessor"));
  int multiprocessors = 0;
  check_call(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             name);
  return each * multiprocessors;
}

/// Of the launch that reads shared prefixes.
ShareRules prefix_rules_for(const KernelRow& row, int blocks) {
  return {.blocks = blocks, .rows = row.wide_rows, .keys = row.wide_keys};
}

CuttingRules rules_for(const KernelRow& row, const Problem& problem, int blocks) {
  CuttingRules rules{.blocks = blocks,
                     .narrow_rows = row.narrow_rows,
                     .narrow_keys = row.narrow_keys,
                     .wide_rows = row.wide_rows,
                     .wide_keys = row.wide_keys};
  const std::int64_t rows = std::int64_t{problem.extent.q_len} * problem.shape.group_size();
  rules.most_part_rows = std::int64_t{4} * blocks * row.narrow_rows;
  if (rows > row.narrow_rows) rules.most_part_rows += std::int64_t{blocks} * row.wide_rows;
  if (reads_prefixes_once(problem))
    rules.most_part_rows +=
        most_bundled_rows(problem.shape, problem.extent, prefix_rules_for(row, blocks));
  if (problem.options.batch_invariant) {
    rules.narrow_rows = 0;  // every row goes the same way
    rules.fixed_split = kFixedSplit;
  }
  return rules;
}

class Sm80Plan final : public Plan {
 public:
  Sm80Plan(std::string_view backend, const Problem& problem, const Support& support,
           const KernelRow& row)
      : Plan(backend, support.row, problem.shape, problem.extent),
        functions_(row.functions_for(problem.options.batch_invariant)),
        device_(problem.device.index),
        stream_(static_cast<cudaStream_t>(problem.options.stream)),
        blocks_(resident_blocks(functions_, device_, support.row)),
        rules_(rules_for(row, problem, blocks_)),
        schedule_(device_, schedule_bounds(problem.shape, problem.extent.requests,
                                           problem.extent.tokens, rules_)) {
    const std::int64_t row_bytes = (shape().head_dim_v + 2) * std::int64_t{sizeof(float)};
    if (reads_prefixes_once(problem))
      prefixes_.emplace(problem, prefix_rules_for(row, blocks_), PrefixPass::Order::queue,
                        std::max(row.narrow_keys, row.wide_keys), rules_.most_part_rows);
    part_rows_ = rules_.most_part_rows + (prefixes_ ? prefixes_->most_part_rows() : 0);
    part_bytes_ = (part_rows_ * row_bytes + 63) / 64 * 64;
    const bool cuts = rules_.fixed_split > 0;
    set_workspace_bytes(part_bytes_ + (cuts ? aside_bytes(blocks_, row.wide_rows, row.dim_v) : 0));
  }

  void run(const RunArgs& args) override {
    const auto& keys = static_cast<const KvTensors&>(*args.kv);
    check_call(cudaSetDevice(device_), row());
    if (prefixes_) launch(prefixes_->of_run(shape(), args, keys), args);
    launch(arguments_.of_run(shape(), args, keys), args);
  }

 private:
  void launch(StepArgs step, const RunArgs& args) const {
    step.part_stats = static_cast<float2*>(args.workspace);
    step.part_sums = static_cast<float*>(args.workspace) + 2 * part_rows_;
    step.set_aside =
        reinterpret_cast<float4*>(static_cast<std::byte*>(args.workspace) + part_bytes_);
    check_call(functions_.launch(step, blocks_, static_cast<cudaStream_t>(args.stream)), row());
  }

  void take(const StepBatch& step) override {
    CuttingRules rules = rules_;
    const DeviceLengths& lengths = step.device_lengths;
    rules.narrows_slots = (step.layout == KvLayout::packed || step.tables.positions == nullptr) &&
                          lengths.q_lens == nullptr && lengths.kv_lens == nullptr &&
                          lengths.q_start == nullptr;
    check_call(cudaSetDevice(device_), row());
    const PrefixBundles none;
    const PrefixBundles& prefixes = prefixes_ ? prefixes_->take(shape(), step, stream_) : none;
    make_schedule(shape(), step, rules, laid_out_, prefixes);
    schedule_.write(laid_out_, stream_);
    arguments_ = StepArguments(shape(), step, schedule_);
  }

  KernelFunctions functions_;
  int device_;
  cudaStream_t stream_;
  int blocks_;
  CuttingRules rules_;
  DeviceSchedule schedule_;
  std::optional<PrefixPass> prefixes_;
  std::int64_t part_rows_;
  std::int64_t part_bytes_;
  Schedule laid_out_;
  StepArguments arguments_;
};

}  // namespace

std::unique_ptr<Plan> make_sm80_plan(std::string_view backend, const Problem& problem,
                                     const Support& support, const KernelRow& row) {
  return std::make_unique<Sm80Plan>(backend, problem, support, row);
}

}  // namespace headwise::cuda::sm80
