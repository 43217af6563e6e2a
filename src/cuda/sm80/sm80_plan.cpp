#include "cuda/sm80/sm80_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/check.h"
#include "cuda/runtime/check.h"
#include "cuda/schedule/device_schedule.h"
#include "cuda/sm80/kv_tensors.h"

namespace headwise::cuda::sm80 {
namespace {

constexpr double kLog2E = 1.4426950408889634;

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

CuttingRules rules_for(const KernelRow& row, const Problem& problem, int blocks) {
  CuttingRules rules{.blocks = blocks,
                     .narrow_rows = row.narrow_rows,
                     .narrow_keys = row.narrow_keys,
                     .wide_rows = row.wide_rows,
                     .wide_keys = row.wide_keys};
  // Of a request; where prefixes are shared, of all requests.
  const std::int64_t tokens =
      problem.options.batch_invariant ? problem.extent.q_len : problem.extent.tokens;
  const std::int64_t rows = tokens * problem.shape.group_size();
  rules.most_part_rows = std::int64_t{4} * blocks * row.narrow_rows;
  if (rows > row.narrow_rows) rules.most_part_rows += std::int64_t{blocks} * row.wide_rows;
  if (problem.options.batch_invariant) {
    rules.narrow_rows = 0;  // every row goes the same way
    rules.fixed_split = kFixedSplit;
  }
  return rules;
}

/// What all blocks set aside at a cut (set_aside.cuh).
std::int64_t aside_bytes(const KernelRow& row, const CuttingRules& rules) {
  constexpr int kStats = 8;  // floats
  if (rules.fixed_split == 0) return 0;
  return std::int64_t{rules.blocks} * row.wide_rows * (row.dim_v + kStats) *
         std::int64_t{sizeof(float)};
}

std::int32_t clamped(std::int64_t window) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(window, std::numeric_limits<std::int32_t>::max()));
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
    part_bytes_ = (rules_.most_part_rows * row_bytes + 63) / 64 * 64;
    set_workspace_bytes(part_bytes_ + aside_bytes(row, rules_));
  }

  void run(const RunArgs& args) override {
    StepArgs step = step_args_;
    if (args.q != nullptr) step.q = static_cast<const std::uint16_t*>(args.q);
    if (args.out != nullptr) step.out = args.out;
    if (args.lse != nullptr) step.lse = args.lse;
    step.q_pairs = pairs_q_ && reinterpret_cast<std::uintptr_t>(step.q) % 4 == 0;
    step.q_chunks = chunks_q_ && reinterpret_cast<std::uintptr_t>(step.q) % 16 == 0;
    step.out_pairs =
        pairs_out_ &&
        reinterpret_cast<std::uintptr_t>(step.out) % (step.out_type == OutType::f32 ? 8 : 4) == 0;
    const auto& kv = static_cast<const KvTensors&>(*args.kv);
    step.k = kv.k();
    step.v = kv.v();
    step.kv_chunks = kv.chunks();
    if (shape().kv_type == DType::f8e4m3) {
      step.k_scale = args.k_scale;
      step.v_scale = shape().v_is_k_prefix ? args.k_scale : args.v_scale;
    }
    step.sinks = shape().sinks ? args.sinks : nullptr;
    step.part_stats = static_cast<float2*>(args.workspace);
    step.part_sums = static_cast<float*>(args.workspace) + 2 * rules_.most_part_rows;
    step.set_aside =
        reinterpret_cast<float4*>(static_cast<std::byte*>(args.workspace) + part_bytes_);
    check_call(cudaSetDevice(device_), row());
    check_call(functions_.launch(step, blocks_, static_cast<cudaStream_t>(args.stream)), row());
  }

 private:
  void take(const StepBatch& step) override {
    CuttingRules rules = rules_;
    const DeviceLengths& lengths = step.device_lengths;
    rules.narrows_slots = (step.layout == KvLayout::packed || step.tables.positions == nullptr) &&
                          lengths.q_lens == nullptr && lengths.kv_lens == nullptr &&
                          lengths.q_start == nullptr;
    make_schedule(shape(), step, rules, laid_out_);
    check_call(cudaSetDevice(device_), row());
    schedule_.write(laid_out_, stream_);
    step_args_ = args_of(step);
  }

  StepArgs args_of(const StepBatch& step) {
    StepArgs args;
    set_logits(args);
    args.q = static_cast<const std::uint16_t*>(step.q.data);
    args.out = step.out.data;
    args.lse = static_cast<float*>(step.lse.data);
    args.q_strides = strides_of(step.q);
    args.out_strides = strides_of(step.out);
    if (step.lse) args.lse_strides = strides_of(step.lse);
    pairs_q_ = args.q_strides.token % 2 == 0 && args.q_strides.head % 2 == 0;
    chunks_q_ = args.q_strides.token % 8 == 0 && args.q_strides.head % 8 == 0 &&
                shape().head_dim_qk % 8 == 0 && args.q_sign == 0;
    pairs_out_ = args.out_strides.token % 2 == 0 && args.out_strides.head % 2 == 0;
    args.out_type = step.out.dtype == DType::f32    ? OutType::f32
                    : step.out.dtype == DType::bf16 ? OutType::bf16
                                                    : OutType::f16;
    args.q_is_f16 = shape().q_type == DType::f16;
    set_keys(step, args);
    set_schedule(step, args);
    return args;
  }

  static RowStrides strides_of(const TensorView& view) {
    return {view.sizes[0] > 1 ? view.strides[0] : 0, view.sizes[1] > 1 ? view.strides[1] : 0};
  }

  static void set_keys(const StepBatch& step, StepArgs& args) {
    if (step.layout == KvLayout::packed) return;
    const BlockTables& tables = step.tables;
    args.pages = tables.pages;
    args.positions = tables.positions;
    args.table_request = step.requests() > 1 ? tables.request_stride : 0;
    args.table_head = tables.heads > 1 ? tables.head_stride : 0;
    args.page_size = Divider(static_cast<std::uint32_t>(tables.page_size));
  }

  void set_schedule(const StepBatch& step, StepArgs& args) const {
    args.items = schedule_.items();
    args.splits = schedule_.splits();
    args.shared_tokens = schedule_.shared_tokens();
    args.counts = schedule_.counts();
    args.next_item = schedule_.next_item();
    args.blocks_done = schedule_.blocks_done();
    args.parts_done = schedule_.parts_done();
    args.q_lens = step.device_lengths.q_lens;
    args.kv_lens = step.device_lengths.kv_lens;
    args.q_start = step.device_lengths.q_start;
  }

  void set_logits(StepArgs& args) const {
    // A scale of 0 would make NaN of masked logits; so small a one makes 0 of all others.
    const double scale = shape().logit_scale();
    args.scale_log2 = static_cast<float>(std::max(std::fabs(scale) * kLog2E, 1e-37));
    args.q_sign = scale < 0.0 ? 0x80008000U : 0U;
    args.softcap = static_cast<float>(shape().softcap * kLog2E);
    args.window_left = clamped(shape().window_left);
    args.window_right = clamped(shape().window_right);
    args.group = Divider(static_cast<std::uint32_t>(shape().group_size()));
    args.dim_qk = shape().head_dim_qk;
    args.dim_v = shape().head_dim_v;
    args.scale_per_head = shape().fp8_scale == ScaleGranularity::kv_head;
  }

  KernelFunctions functions_;
  int device_;
  cudaStream_t stream_;
  int blocks_;
  CuttingRules rules_;
  DeviceSchedule schedule_;
  std::int64_t part_bytes_;
  Schedule laid_out_;
  StepArgs step_args_;
  bool pairs_q_ = false;
  bool chunks_q_ = false;
  bool pairs_out_ = false;
};

}  // namespace

std::unique_ptr<Plan> make_sm80_plan(std::string_view backend, const Problem& problem,
                                     const Support& support, const KernelRow& row) {
  return std::make_unique<Sm80Plan>(backend, problem, support, row);
}

}  // namespace headwise::cuda::sm80
