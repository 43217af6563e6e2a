#include "headwise/plan.h"

#include <algorithm>
#include <cstdint>

#include "attention/validate.h"
#include "core/check.h"

namespace headwise {
namespace {

/// What a plan is made for stays: another layout of rows or keys needs another plan.
void check_same_kind(const StepBatch& old_step, const StepBatch& step) {
  check(step.layout == old_step.layout, "layout differs from the plan's");
  check(step.q.device == old_step.q.device, "q.device is ", to_string(step.q.device),
        "; the plan is for ", to_string(old_step.q.device));
  check(step.out.dtype == old_step.out.dtype, "out.dtype is ", name_of(step.out.dtype),
        "; the plan is for ", name_of(old_step.out.dtype));
  if (step.layout != KvLayout::paged) return;
  check(step.tables.page_size == old_step.tables.page_size, "tables.page_size is ",
        step.tables.page_size, "; the plan is for ", old_step.tables.page_size);
  check(step.tables.heads == old_step.tables.heads, "tables.heads is ", step.tables.heads,
        "; the plan is for ", old_step.tables.heads);
  check((step.tables.positions == nullptr) == (old_step.tables.positions == nullptr),
        "page_pos (tables.positions) comes or goes; the plan is for steps ",
        old_step.tables.positions == nullptr ? "without" : "with", " it");
}

void check_aligned(const void* pointer, std::string_view field, std::int64_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0, field, " ", pointer,
        " is not aligned to ", bytes, " bytes");
}

}  // namespace

void check_within(const Capacity& capacity, const Capacity& extent) {
  const auto fits = [](std::int64_t value, std::int64_t limit, std::string_view what) {
    check(value <= limit, "capacity.", what, " is ", limit, "; the step needs ", value);
  };
  fits(extent.requests, capacity.requests, "requests");
  fits(extent.tokens, capacity.tokens, "tokens");
  fits(extent.q_len, capacity.q_len, "q_len");
  fits(extent.kv_len, capacity.kv_len, "kv_len");
  fits(extent.pairs, capacity.pairs, "pairs");
}

Plan::Plan(std::string_view backend, std::string row, const AttentionShape& shape,
           const Capacity& capacity)
    : backend_(backend), row_(std::move(row)), shape_(shape), capacity_(capacity) {
  const auto requests = static_cast<std::size_t>(capacity.requests);
  for (OwnedStep& step : steps_) {
    step.q_lens.reserve(requests);
    step.kv_lens.reserve(requests);
    step.q_start.reserve(requests);
    step.kv_start.reserve(requests);
    step.prefix_group.reserve(requests);
    step.prefix_tokens.reserve(requests);
  }
}

void Plan::adopt(const StepBatch& step) {
  OwnedStep& next = steps_[1 - current_];
  next.batch = step;
  next.q_lens.assign(step.q_lens.begin(), step.q_lens.end());
  next.kv_lens.assign(step.kv_lens.begin(), step.kv_lens.end());
  next.q_start.assign(step.q_start.begin(), step.q_start.end());
  for (std::size_t r = next.q_start.size(); r < next.q_lens.size(); ++r)
    next.q_start.push_back(next.kv_lens[r] - next.q_lens[r]);
  next.kv_start.assign(step.kv_start.begin(), step.kv_start.end());
  next.prefix_group.assign(step.prefix_group.begin(), step.prefix_group.end());
  next.prefix_tokens.assign(step.prefix_tokens.begin(), step.prefix_tokens.end());
  next.batch.q_lens = next.q_lens;
  next.batch.kv_lens = next.kv_lens;
  next.batch.q_start = next.q_start;
  next.batch.kv_start = next.kv_start;
  next.batch.prefix_group = next.prefix_group;
  next.batch.prefix_tokens = next.prefix_tokens;
  take(next.batch);
  current_ = 1 - current_;
}

void Plan::update(const StepBatch& next) {
  validate(shape_, next);
  check_same_kind(step(), next);
  check_within(capacity_, extent_of(next));
  adopt(next);
}

void Plan::check(const RunArgs& args) const {
  using headwise::check;
  check(args.kv != nullptr, "kv is null");
  check(args.kv->backend() == backend_, "kv was bound by ", args.kv->backend(), "; the plan is ",
        backend_, "'s");
  check(args.kv->layout() == step().layout, "kv is ",
        args.kv->layout() == KvLayout::paged ? "paged" : "packed", "; the plan's steps are not");
  const TensorView& k = args.kv->view().k;
  check(k.dtype == shape_.kv_type, "k.dtype is ", name_of(k.dtype), "; kv_type is ",
        name_of(shape_.kv_type));
  check(k.sizes[1] == shape_.kv_heads, "k.sizes[1] is ", k.sizes[1], "; kv_heads is ",
        shape_.kv_heads);
  check(k.sizes[k.rank - 1] == shape_.head_dim_qk, "k.sizes[", k.rank - 1, "] is ",
        k.sizes[k.rank - 1], "; head_dim_qk is ", shape_.head_dim_qk);
  const TensorView& v = args.kv->view().v;
  check(static_cast<bool>(v) != shape_.v_is_k_prefix, "v is ", v ? "given" : "absent",
        "; v_is_k_prefix is ", shape_.v_is_k_prefix);
  check(!v || v.sizes[v.rank - 1] == shape_.head_dim_v, "v.sizes[", v.rank - 1, "] is ",
        v.sizes[std::max(v.rank - 1, 0)], "; head_dim_v is ", shape_.head_dim_v);
  check(k.device == step().q.device, "k.device is ", to_string(k.device), "; q is on ",
        to_string(step().q.device));
  if (step().layout == KvLayout::paged) {
    check(k.sizes[2] == step().tables.page_size, "k.sizes[2] is ", k.sizes[2],
          "; tables.page_size is ", step().tables.page_size);
    check(k.sizes[0] >= step().tables.pool_pages, "k.sizes[0] is ", k.sizes[0],
          "; tables.pool_pages is ", step().tables.pool_pages);
  } else {
    check(k.sizes[0] >= step().packed_tokens, "k.sizes[0] is ", k.sizes[0], "; packed_tokens is ",
          step().packed_tokens);
  }
  check(!shape_.sinks || args.sinks != nullptr, "sinks is null, but the shape has sinks");
  check(workspace_bytes_ == 0 || args.workspace != nullptr, "workspace is null; the plan needs ",
        workspace_bytes_, " bytes");
  check_aligned(args.workspace, "workspace", 64);
  check_aligned(args.q, "q", size_of(step().q.dtype));
  check_aligned(args.out, "out", size_of(step().out.dtype));
  check_aligned(args.lse, "lse", size_of(DType::f32));
}

std::string to_string(const Plan& plan) {
  const Capacity& capacity = plan.capacity();
  return concat(plan.backend(), " ", plan.row(), ": ", to_string(plan.shape()), ", ",
                capacity.requests, " requests, ", capacity.tokens, " tokens, kv ", capacity.kv_len,
                ", workspace ", static_cast<double>(plan.workspace_bytes() / 1024) / 1024.0,
                " MiB");
}

}  // namespace headwise
