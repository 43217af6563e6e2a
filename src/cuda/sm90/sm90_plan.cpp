#include "cuda/sm90/sm90_plan.h"

#include <algorithm>
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

/// New tokens of a request times the query heads of a group.
std::int64_t rows_of(const Problem& problem) {
  return std::int64_t{problem.extent.q_len} * problem.shape.group_size();
}

bool is_mixed(const Problem& problem) {
  return problem.phase != Phase::append && problem.phase != Phase::decode;
}

constexpr int kRowsOfShares = 128;

/// Whether blocks take items from a queue, and not shares. Several items that read the same keys
/// should do so at the same time, lest L2 forgets them in between; shares do not see to that.
bool takes_queue(const Problem& problem) {
  return rows_of(problem) > kRowsOfShares;
}

ShareRules share_rules_for(const KernelRow& row, const Problem& problem, int blocks) {
  ShareRules rules{.blocks = blocks, .rows = row.rows, .keys = row.keys};
  if (row.format == KvFormat::f8) rules.part_cost *= 2;  // by measurement
  rules.blocks = most_blocks(problem.shape, problem.extent, rules);
  return rules;
}

CuttingRules queue_rules_for(const KernelRow& row, int blocks) {
  return {.blocks = blocks,
          .narrow_rows = 64,
          .narrow_keys = row.keys,
          .wide_rows = row.rows,
          .wide_keys = row.keys,
          .wide_tile_cost = 20,
          .most_part_rows = std::int64_t{2} * blocks * row.rows};
}

/// How a plan cuts its steps.
struct Cutting {
  Cutting(const KernelRow& row, const Problem& problem, int multiprocessors)
      : queues(takes_queue(problem)),
        shares(share_rules_for(row, problem, multiprocessors)),
        queue(queue_rules_for(row, multiprocessors)) {}

  int blocks() const { return queues ? queue.blocks : shares.blocks; }
  std::int64_t most_part_rows() const {
    return queues ? queue.most_part_rows : shares.most_part_rows();
  }
  ScheduleBounds bounds(const Problem& problem) const {
    const Capacity& extent = problem.extent;
    if (!queues) return share_bounds(problem.shape, extent.requests, extent.tokens, shares);
    ScheduleBounds bounds = schedule_bounds(problem.shape, extent.requests, extent.tokens, queue);
    bounds.part_rows = queue.most_part_rows;  // each is counted by itself
    return bounds;
  }
  void cut(const AttentionShape& shape, const StepBatch& step, Schedule& schedule) {
    const DeviceLengths& lengths = step.device_lengths;
    const bool narrows = (step.layout == KvLayout::packed || step.tables.positions == nullptr) &&
                         lengths.q_lens == nullptr && lengths.kv_lens == nullptr &&
                         lengths.q_start == nullptr;
    queue.narrows_slots = shares.narrows_slots = narrows;
    if (queues)
      make_schedule(shape, step, queue, schedule);
    else
      make_shares(shape, step, shares, schedule);
  }

  bool queues;
  ShareRules shares;
  CuttingRules queue;
};

class Sm90Plan final : public Plan {
 public:
  Sm90Plan(std::string_view backend, const Problem& problem, const Support& support,
           const KernelRow& row)
      : Plan(backend, support.row, problem.shape, problem.extent),
        functions_(row.functions),
        device_(problem.device.index),
        stream_(static_cast<cudaStream_t>(problem.options.stream)),
        cutting_(row, problem, blocks_of(functions_, device_, support.row)),
        schedule_(device_, cutting_.bounds(problem)) {
    const std::int64_t row_bytes = (shape().head_dim_v + 2) * std::int64_t{sizeof(float)};
    set_workspace_bytes(cutting_.most_part_rows() * row_bytes);
  }

  void run(const RunArgs& args) override {
    const auto& keys = static_cast<const MappedKeys&>(*args.kv);
    StepArgs step = arguments_.of_run(shape(), args, keys);
    step.part_sums = static_cast<float*>(args.workspace);
    step.part_stats =
        reinterpret_cast<float2*>(step.part_sums + cutting_.most_part_rows() * shape().head_dim_v);
    if (cutting_.queues) step.block_begin = nullptr;
    check_call(cudaSetDevice(device_), row());
    check_call(functions_.launch(keys.maps(), step, cutting_.blocks(),
                                 static_cast<cudaStream_t>(args.stream)),
               row());
  }

 private:
  void take(const StepBatch& step) override {
    cutting_.cut(shape(), step, laid_out_);
    check_call(cudaSetDevice(device_), row());
    schedule_.write(laid_out_, stream_);
    arguments_ = StepArguments(shape(), step, schedule_);
  }

  KernelFunctions functions_;
  int device_;
  cudaStream_t stream_;
  Cutting cutting_;
  DeviceSchedule schedule_;
  Schedule laid_out_;
  StepArguments arguments_;
};

}  // namespace

int rows_of_items(const Problem& problem) {
  const std::int64_t rows = rows_of(problem);
  // Two warpgroups with larger tiles keep up with three, and fewer rows are left over.
  constexpr std::int64_t kMostRowsOfTwoGroups = 1536;
  if (rows <= kRowsOfShares) return static_cast<int>(rows);
  return is_mixed(problem) || rows > kMostRowsOfTwoGroups ? 192 : 128;
}

std::unique_ptr<Plan> make_sm90_plan(std::string_view backend, const Problem& problem,
                                     const Support& support, const KernelRow& row) {
  return std::make_unique<Sm90Plan>(backend, problem, support, row);
}

}  // namespace headwise::cuda::sm90
