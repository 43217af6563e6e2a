#include "headwise/backend.h"

#include "attention/validate.h"
#include "core/check.h"

namespace headwise {
namespace {

/// `wanted`, with zeros taken from the first step.
Capacity filled(const Capacity& wanted, const Capacity& first) {
  Capacity capacity = wanted;
  if (capacity.pairs == 0) {
    const bool given = wanted.q_len > 0 || wanted.kv_len > 0;
    const std::int64_t q_len = wanted.q_len > 0 ? wanted.q_len : first.q_len;
    const std::int64_t kv_len = wanted.kv_len > 0 ? wanted.kv_len : first.kv_len;
    capacity.pairs = given ? q_len * kv_len : first.pairs;
  }
  if (capacity.requests == 0) capacity.requests = first.requests;
  if (capacity.tokens == 0) capacity.tokens = first.tokens;
  if (capacity.q_len == 0) capacity.q_len = first.q_len;
  if (capacity.kv_len == 0) capacity.kv_len = first.kv_len;
  return capacity;
}

}  // namespace

Problem problem_of(const AttentionShape& shape, const StepBatch& step, const PlanOptions& options) {
  const bool paged = step.layout == KvLayout::paged;
  return {.shape = shape,
          .phase = phase_of(step),
          .layout = step.layout,
          .page_size = paged ? step.tables.page_size : 0,
          .picked_pages = paged && step.tables.positions != nullptr,
          .tables_per_kv_head = paged && step.tables.heads > 1,
          .partial_out = step.out.dtype != shape.out_type(),
          .shared_prefixes = !step.prefix_group.empty(),
          .device = step.q.device,
          .extent = filled(options.capacity, extent_of(step)),
          .options = options};
}

std::unique_ptr<Plan> Backend::plan(const AttentionShape& shape, const StepBatch& step,
                                    const PlanOptions& options) const {
  validate(shape, step);
  check(options.threads >= 0, "threads is ", options.threads, "; 0 stands for all");
  const Problem problem = problem_of(shape, step, options);
  check_within(problem.extent, extent_of(step));
  const Support support = explain(problem, this_machine());
  if (!support)
    throw Error(ErrorCode::not_possible, concat("backend ", name(), " cannot: ", support.why_not));
  std::unique_ptr<Plan> plan = make_plan(problem, support);
  plan->adopt(step);
  return plan;
}

std::unique_ptr<KvBinding> Backend::bind(const AttentionShape& shape, const KvView& kv,
                                         KvLayout layout) const {
  validate(shape);
  validate(shape, kv, layout);
  return make_binding(shape, kv, layout);
}

void Backend::append_kv(const AttentionShape& shape, const StepBatch& step,
                        const AppendArgs& args) const {
  validate(shape, step, args);
  if (args.k.device.type != device_type())
    throw Error(ErrorCode::not_possible,
                concat("backend ", name(), " cannot: tensors are on ", to_string(args.k.device)));
  append(shape, step, args);
}

void Backend::append(const AttentionShape&, const StepBatch&, const AppendArgs&) const {
  throw Error(ErrorCode::not_possible, concat("backend ", name(), " cannot append"));
}

std::unique_ptr<KvBinding> Backend::make_binding(const AttentionShape&, const KvView& kv,
                                                 KvLayout layout) const {
  return std::make_unique<KvBinding>(name(), layout, kv);
}

}  // namespace headwise
