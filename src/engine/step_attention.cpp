#include "engine/step_attention.h"

#include <chrono>

#include "core/check.h"
#include "core/log.h"

namespace headwise {
namespace {

/// Adds the time from its making to its end to a sum.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  ~Timed() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

PlanOptions plan_options(const AttentionOptions& options, Phase phase) {
  const std::int32_t tokens = phase == Phase::decode ? 1 : options.max_tokens;
  PlanOptions plan;
  plan.threads = options.threads;
  plan.capacity.requests = 1;
  plan.capacity.tokens = tokens;
  plan.capacity.q_len = tokens;
  plan.capacity.kv_len = options.max_context;
  return plan;
}

}  // namespace

StepAttention::StepAttention(const AttentionShape& shape, const PagePool& pool, int first_layer,
                             const AttentionOptions& options)
    : shape_(shape),
      pool_(&pool),
      layers_(concat(first_layer, "-", first_layer + pool.shape().layers - 1)),
      options_(options) {}

void StepAttention::begin(const StepBatch& step) {
  const Timed timed(seconds_);
  Planned& planned = by_phase_[static_cast<std::size_t>(phase_of(step))];
  if (planned.plan) {
    planned.plan->update(step);
  } else {
    planned = make_plan(step);
  }
  if (planned.plan->workspace_bytes() > workspace_bytes_) {
    workspace_ = allocate_aligned(planned.plan->workspace_bytes());
    workspace_bytes_ = planned.plan->workspace_bytes();
  }
  current_ = &planned;
}

StepAttention::Planned StepAttention::make_plan(const StepBatch& step) {
  const Phase phase = phase_of(step);
  const PlanOptions options = plan_options(options_, phase);
  const Choice choice = Registry::builtin().choose(problem_of(shape_, step, options),
                                                   this_machine(), options_.backend);
  log_lines_.push_back(log_line(choice, layers_, phase));
  log(LogLevel::info, log_lines_.back());
  return {choice.backend->plan(shape_, step, options), &bindings_of(*choice.backend)};
}

const StepAttention::Bindings& StepAttention::bindings_of(const Backend& backend) {
  Bindings& bindings = bindings_[&backend];
  for (int layer = static_cast<int>(bindings.size()); layer < pool_->shape().layers; ++layer) {
    bindings.push_back(backend.bind(shape_, pool_->layer(layer), KvLayout::paged));
  }
  return bindings;
}

void StepAttention::run(int layer) {
  const Timed timed(seconds_);
  RunArgs args;
  args.kv = (*current_->bindings)[static_cast<std::size_t>(layer)].get();
  args.workspace = workspace_.get();
  current_->plan->run(args);
}

int preferred_page_size(const AttentionShape& shape, const AttentionOptions& options) {
  Problem problem;
  problem.shape = shape;
  problem.phase = Phase::decode;
  problem.options = plan_options(options, Phase::decode);
  problem.extent = problem.options.capacity;
  const Choice choice = Registry::builtin().choose(problem, this_machine(), options.backend);
  return choice.backend->preferred_page_sizes(shape).front();
}

}  // namespace headwise
