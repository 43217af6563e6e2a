#include "cuda/sm90/sm90_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/check.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/memory.h"
#include "cuda/schedule/device_schedule.h"
#include "cuda/schedule/prefix_schedule.h"
#include "cuda/schedule/shares.h"
#include "cuda/sm90/mapped_keys.h"
#include "cuda/sm90/mapped_queries.h"
#include "cuda/step/aside_bytes.h"
#include "cuda/step/prefix_pass.h"
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

/// Whether shares end together and read keys once: one item for each request and KV head, or for
/// each the same number of them over many more cached keys than new ones. Others go into a queue.
bool suits_shares(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules) {
  const int team = team_size(shape, step, rules);
  const std::int64_t most = std::int64_t{team} * rules.rows;
  constexpr int kMostOfTeam = 16;
  if (team > kMostOfTeam || rules.blocks % team * 10 > rules.blocks) return false;
  for (std::size_t r = 0; r < step.q_lens.size(); ++r) {
    const std::int64_t rows = std::int64_t{step.q_lens[r]} * shape.group_size();
    if (rows > most) return false;
    if (team == 1 || rows == 0) continue;
    if (rows <= most - rules.rows || step.kv_lens[r] < std::int64_t{4} * step.q_lens[r])
      return false;
  }
  return true;
}

/// Of the launch that reads shared prefixes.
ShareRules prefix_rules_for(const KernelRow& row, int blocks) {
  return {.blocks = blocks, .rows = row.rows, .keys = row.keys};
}

/// Costs by measurement.
ShareRules share_rules_for(const KernelRow& row, const Problem& problem, int blocks) {
  constexpr std::int64_t kItemBytes = 60 * 1024;  // that are read while an item ends and begins
  const AttentionShape& shape = problem.shape;
  const std::int64_t tile_bytes =
      row.keys * std::int64_t{shape.head_dim_qk + shape.head_dim_v} * size_of(shape.kv_type);
  ShareRules rules{.blocks = blocks, .rows = row.rows, .keys = row.keys};
  rules.item_cost = static_cast<int>(4 * kItemBytes / tile_bytes);
  if (is_8_bit(row.format)) rules.part_cost *= 2;
  if (row.rows > kMostNarrowRows) rules.part_cost = 20;
  if (rows_of(problem) <= row.rows)
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
          .most_part_rows = std::int64_t{2} * blocks * row.rows,
          .short_first = 64,
          .fixed_split = row.invariant ? kFixedSplit : 0};
}

/// How a plan cuts its steps. `following_rows`: ShareRules has it.
struct Cutting {
  Cutting(const KernelRow& row, const Problem& problem, int multiprocessors,
          std::int64_t following_rows)
      : shares(share_rules_for(row, problem, multiprocessors)),
        queue(queue_rules_for(row, shares.blocks)) {
    shares.following_rows = following_rows;
    queue.most_part_rows += following_rows;
  }

  int blocks() const { return shares.blocks; }
  std::int64_t most_part_rows() const { return shares.most_part_rows(); }
  ScheduleBounds bounds(const Problem& problem) const {
    const Capacity& extent = problem.extent;
    ScheduleBounds bounds = share_bounds(problem.shape, extent.requests, extent.tokens, shares);
    const ScheduleBounds queued =
        schedule_bounds(problem.shape, extent.requests, extent.tokens, queue);
    bounds.items = std::max(bounds.items, queued.items);
    bounds.splits = std::max(bounds.splits, queued.splits);
    return bounds;
  }
  void cut(const AttentionShape& shape, const StepBatch& step, const PrefixBundles& prefixes,
           Schedule& schedule) {
    const DeviceLengths& lengths = step.device_lengths;
    const bool narrows = (step.layout == KvLayout::packed || step.tables.positions == nullptr) &&
                         lengths.q_lens == nullptr && lengths.kv_lens == nullptr &&
                         lengths.q_start == nullptr;
    queue.narrows_slots = shares.narrows_slots = narrows;
    if (queue.fixed_split == 0 && suits_shares(shape, step, shares))
      make_shares(shape, step, shares, schedule, prefixes);
    else
      make_schedule(shape, step, queue, schedule, prefixes);
  }

  ShareRules shares;
  CuttingRules queue;
};

class Sm90Plan final : public Plan {
 public:
  Sm90Plan(std::string_view backend, const Problem& problem, const Support& support,
           const KernelRow& row, const KernelRow& prefix_row)
      : Plan(backend, support.row, problem.shape, problem.extent),
        functions_(row.functions),
        prefix_functions_(prefix_row.functions),
        device_(problem.device.index),
        stream_(static_cast<cudaStream_t>(problem.options.stream)),
        queries_(row.rows > kMostNarrowRows ? row.rows : 0),
        cutting_(row, problem, blocks_of(functions_, device_, support.row),
                 following_rows(problem, prefix_row)),
        schedule_(device_, cutting_.bounds(problem)),
        part_rows_(cutting_.most_part_rows()) {
    if (reads_prefixes_once(problem)) {
      const int blocks = blocks_of(prefix_functions_, device_, support.row);
      prefixes_.emplace(problem, prefix_rules_for(prefix_row, blocks), PrefixPass::Order::shares,
                        std::max(row.keys, prefix_row.keys), part_rows_);
      part_rows_ += prefixes_->most_part_rows();
    }
    const std::int64_t row_bytes = (shape().head_dim_v + 2) * std::int64_t{sizeof(float)};
    part_bytes_ = (part_rows_ * row_bytes + 63) / 64 * 64;
    set_workspace_bytes(part_bytes_ +
                        (row.invariant ? aside_bytes(cutting_.blocks(), row.rows, row.dim_v) : 0));
  }

  void run(const RunArgs& args) override {
    const auto& keys = static_cast<const MappedKeys&>(*args.kv);
    const auto stream = static_cast<cudaStream_t>(args.stream);
    check_call(cudaSetDevice(device_), row());
    TensorMaps maps = keys.maps();
    if (prefixes_) {
      const StepArgs step = with_workspace(prefixes_->of_run(shape(), args, keys), args.workspace);
      check_call(prefix_functions_.launch(maps, step, prefixes_->blocks(), stream), row());
    }
    const StepArgs step = with_workspace(arguments_.of_run(shape(), args, keys), args.workspace);
    queries_.add_to(maps, step, shape().q_heads, shape().q_type);
    check_call(functions_.launch(maps, step, cutting_.blocks(), stream), row());
  }

  std::optional<std::int64_t> repeated_rows() const override {
    synchronize(device_);
    std::int64_t rows = rows_at(schedule_.repeated_rows());
    if (prefixes_) rows += rows_at(prefixes_->repeated_rows());
    return rows;
  }

 private:
  static std::int64_t rows_at(const unsigned long long* counter) {
    unsigned long long rows = 0;
    copy_to_host(&rows, counter, sizeof(rows));
    return static_cast<std::int64_t>(rows);
  }

  /// ShareRules has them.
  static std::int64_t following_rows(const Problem& problem, const KernelRow& prefix_row) {
    if (!reads_prefixes_once(problem)) return 0;
    const int blocks = blocks_of(prefix_row.functions, problem.device.index, prefix_row.name);
    return most_bundled_rows(problem.shape, problem.extent, prefix_rules_for(prefix_row, blocks));
  }

  StepArgs with_workspace(StepArgs step, void* workspace) const {
    step.part_sums = static_cast<float*>(workspace);
    step.part_stats = reinterpret_cast<float2*>(step.part_sums + part_rows_ * shape().head_dim_v);
    step.set_aside = reinterpret_cast<float4*>(static_cast<std::byte*>(workspace) + part_bytes_);
    return step;
  }

  void take(const StepBatch& step) override {
    check_call(cudaSetDevice(device_), row());
    const PrefixBundles none;
    const PrefixBundles& prefixes = prefixes_ ? prefixes_->take(shape(), step, stream_) : none;
    cutting_.cut(shape(), step, prefixes, laid_out_);
    schedule_.write(laid_out_, stream_);
    arguments_ = StepArguments(shape(), step, schedule_);
  }

  KernelFunctions functions_;
  KernelFunctions prefix_functions_;
  int device_;
  cudaStream_t stream_;
  MappedQueries queries_;
  Cutting cutting_;
  DeviceSchedule schedule_;
  std::int64_t part_rows_;
  std::int64_t part_bytes_;
  std::optional<PrefixPass> prefixes_;
  Schedule laid_out_;
  StepArguments arguments_;
};

}  // namespace

int rows_of_items(const Problem& problem) {
  const std::int64_t rows = rows_of(problem);
  constexpr int kTwoGroups = 128;
  constexpr int kThreeGroups = 192;
  if (rows <= kTwoGroups) return static_cast<int>(rows);
  // By measurement: behind many cached keys two groups, which take turns, are ahead.
  const bool prompts = problem.phase == Phase::prefill || problem.phase == Phase::mixed;
  return prompts ? kThreeGroups : kTwoGroups;
}

std::unique_ptr<Plan> make_sm90_plan(std::string_view backend, const Problem& problem,
                                     const Support& support, const KernelRow& row,
                                     const KernelRow& prefix_row) {
  return std::make_unique<Sm90Plan>(backend, problem, support, row, prefix_row);
}

}  // namespace headwise::cuda::sm90
