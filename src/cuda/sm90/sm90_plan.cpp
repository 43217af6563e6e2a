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
#include "cuda/sm90/mapped_keys.h"
#include "cuda/sm90/mapped_queries.h"
#include "cuda/sm90/step_cutting.h"
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
  StepCutting cutting_;
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
