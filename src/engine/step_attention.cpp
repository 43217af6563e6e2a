#include "engine/step_attention.h"

#include "core/check.h"
#include "core/log.h"
#include "core/timed.h"

namespace headwise {
namespace {

PlanOptions plan_options(const AttentionOptions& options, Phase phase) {
  const std::int32_t tokens = phase == Phase::decode ? 1 : options.max_tokens;
  PlanOptions plan;
  plan.threads = options.threads;
  plan.capacity = {.requests = 1,
                   .tokens = tokens,
                   .q_len = tokens,
                   .kv_len = options.max_context,
                   .pairs = std::int64_t{tokens} * options.max_context};
  return plan;
}

/// What any step of a phase can ask for.
Problem problem_of_phase(const AttentionShape& shape, const AttentionOptions& options,
                         Phase phase) {
  Problem problem;
  problem.shape = shape;
  problem.phase = phase;
  problem.options = plan_options(options, phase);
  problem.extent = problem.options.capacity;
  return problem;
}

}  // namespace

StepAttention::StepAttention(const KvCache& cache, int group, std::string layers,
                             const AttentionOptions& options)
    : shape_(cache.options().groups[static_cast<std::size_t>(group)].group.shape),
      cache_(&cache),
      group_(group),
      layers_(std::move(layers)),
      options_(options) {}

void StepAttention::prepare(Phase phase) {
  Prepared& prepared = by_phase_[static_cast<std::size_t>(phase)];
  if (prepared.backend != nullptr) return;
  Problem problem = problem_of_phase(shape_, options_, phase);
  problem.page_size = cache_->options().page_size;
  const Choice choice = Registry::builtin().choose(problem, this_machine(), options_.backend);
  prepared.backend = choice.backend;
  prepared.bindings = &bindings_of(*choice.backend);
  log_lines_.push_back(log_line(choice, layers_, phase));
  log(LogLevel::info, log_lines_.back());
}

void StepAttention::begin(const StepBatch& step) {
  const Timed timed(seconds_);
  const Phase phase = phase_of(step);
  prepare(phase);
  Prepared& prepared = by_phase_[static_cast<std::size_t>(phase)];
  if (prepared.plan) {
    prepared.plan->update(step);
  } else {
    prepared.plan = prepared.backend->plan(shape_, step, plan_options(options_, phase));
  }
  if (prepared.plan->workspace_bytes() > workspace_bytes_) {
    workspace_ = allocate_aligned(prepared.plan->workspace_bytes());
    workspace_bytes_ = prepared.plan->workspace_bytes();
  }
  current_ = &prepared;
}

const StepAttention::Bindings& StepAttention::bindings_of(const Backend& backend) {
  Bindings& bindings = bindings_[&backend];
  const int layers = cache_->options().groups[static_cast<std::size_t>(group_)].group.layers;
  for (int layer = static_cast<int>(bindings.size()); layer < layers; ++layer)
    bindings.push_back(backend.bind(shape_, cache_->layer(group_, layer), KvLayout::paged));
  return bindings;
}

void StepAttention::run(int layer) {
  const Timed timed(seconds_);
  RunArgs args;
  args.kv = (*current_->bindings)[static_cast<std::size_t>(layer)].get();
  args.k_scale = cache_->k_scale(group_, layer);
  args.v_scale = cache_->v_scale(group_, layer);
  args.workspace = workspace_.get();
  current_->plan->run(args);
}

int preferred_page_size(const AttentionShape& shape, const AttentionOptions& options) {
  const Problem problem = problem_of_phase(shape, options, Phase::decode);
  const Choice choice = Registry::builtin().choose(problem, this_machine(), options.backend);
  return choice.backend->preferred_page_sizes(shape).front();
}

}  // namespace headwise
