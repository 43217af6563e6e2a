#include "cuda/step/step_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace headwise::cuda {
namespace {

constexpr double kLog2E = 1.4426950408889634;

std::int32_t clamped(std::int64_t window) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(window, std::numeric_limits<std::int32_t>::max()));
}

RowStrides strides_of(const TensorView& view) {
  return {view.sizes[0] > 1 ? view.strides[0] : 0, view.sizes[1] > 1 ? view.strides[1] : 0};
}

void set_logits(const AttentionShape& shape, StepArgs& args) {
  // A scale of 0 would make NaN of masked logits; so small a one makes 0 of all others.
  const double scale = shape.logit_scale();
  args.scale_log2 = static_cast<float>(std::max(std::fabs(scale) * kLog2E, 1e-37));
  args.q_sign = scale < 0.0 ? 0x80008000U : 0U;
  args.softcap = static_cast<float>(shape.softcap * kLog2E);
  args.window_left = clamped(shape.window_left);
  args.window_right = clamped(shape.window_right);
  args.group = Divider(static_cast<std::uint32_t>(shape.group_size()));
  args.dim_qk = shape.head_dim_qk;
  args.dim_v = shape.head_dim_v;
  args.scale_per_head = shape.fp8_scale == ScaleGranularity::kv_head;
}

void set_keys(const StepBatch& step, StepArgs& args) {
  if (step.layout == KvLayout::packed) return;
  const BlockTables& tables = step.tables;
  args.pages = tables.pages;
  args.positions = tables.positions;
  args.table_request = step.requests() > 1 ? tables.request_stride : 0;
  args.table_head = tables.heads > 1 ? tables.head_stride : 0;
  args.page_size = Divider(static_cast<std::uint32_t>(tables.page_size));
}

void set_schedule(const StepBatch& step, const DeviceSchedule& schedule, StepArgs& args) {
  args.items = schedule.items();
  args.block_begin = schedule.block_begin();
  args.splits = schedule.splits();
  args.shared_tokens = schedule.shared_tokens();
  args.counts = schedule.counts();
  args.next_item = schedule.next_item();
  args.blocks_done = schedule.blocks_done();
  args.parts_done = schedule.parts_done();
  args.repeated_rows = schedule.repeated_rows();
  args.q_lens = step.device_lengths.q_lens;
  args.kv_lens = step.device_lengths.kv_lens;
  args.q_start = step.device_lengths.q_start;
}

bool lies_at(const void* data, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

}  // namespace

StepArguments::StepArguments(const AttentionShape& shape, const StepBatch& step,
                             const DeviceSchedule& schedule) {
  set_logits(shape, args_);
  args_.q = static_cast<const std::uint16_t*>(step.q.data);
  args_.out = step.out.data;
  args_.lse = static_cast<float*>(step.lse.data);
  args_.q_strides = strides_of(step.q);
  args_.out_strides = strides_of(step.out);
  if (step.lse) args_.lse_strides = strides_of(step.lse);
  pairs_q_ = args_.q_strides.token % 2 == 0 && args_.q_strides.head % 2 == 0;
  chunks_q_ = args_.q_strides.token % 8 == 0 && args_.q_strides.head % 8 == 0 &&
              shape.head_dim_qk % 8 == 0 && args_.q_sign == 0;
  pairs_out_ = args_.out_strides.token % 2 == 0 && args_.out_strides.head % 2 == 0;
  chunks_out_ = args_.out_strides.token % 8 == 0 && args_.out_strides.head % 8 == 0 &&
                step.out.dtype != DType::f32;
  args_.out_type = step.out.dtype == DType::f32    ? OutType::f32
                   : step.out.dtype == DType::bf16 ? OutType::bf16
                                                   : OutType::f16;
  args_.q_is_f16 = shape.q_type == DType::f16;
  set_keys(step, args_);
  set_schedule(step, schedule, args_);
}

StepArgs StepArguments::of_run(const AttentionShape& shape, const RunArgs& args,
                               const KvTensors& kv) const {
  StepArgs step = args_;
  if (args.q != nullptr) step.q = static_cast<const std::uint16_t*>(args.q);
  if (args.out != nullptr) step.out = args.out;
  if (args.lse != nullptr) step.lse = args.lse;
  step.q_pairs = pairs_q_ && lies_at(step.q, 4);
  step.q_chunks = chunks_q_ && lies_at(step.q, 16);
  step.out_pairs = pairs_out_ && lies_at(step.out, step.out_type == OutType::f32 ? 8 : 4);
  step.out_chunks = chunks_out_ && lies_at(step.out, 16);
  step.k = kv.k();
  step.v = kv.v();
  step.kv_chunks = kv.chunks();
  if (shape.kv_type == DType::f8e4m3) {
    step.k_scale = args.k_scale;
    step.v_scale = shape.v_is_k_prefix ? args.k_scale : args.v_scale;
  }
  step.sinks = shape.sinks ? args.sinks : nullptr;
  return step;
}

}  // namespace headwise::cuda
