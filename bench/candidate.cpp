#include "bench/candidate.h"

#include "bench/free_memory.h"
#include "core/check.h"

namespace headwise::bench {

namespace {

PlanOptions in_stream_of(Gpu* gpu, PlanOptions options) {
  options.stream = gpu != nullptr ? gpu->stream() : nullptr;
  return options;
}

}  // namespace

Candidate::Candidate(const Backend& backend, const AttentionShape& shape, StepTensors& tensors,
                     const PlanOptions& options)
    : tensors_(tensors),
      plan_(backend.plan(shape, tensors.step(), in_stream_of(tensors.gpu(), options))) {
  const std::int64_t free = free_memory(tensors.gpu());
  const std::int64_t needed = plan_->workspace_bytes();
  if (needed > free)
    throw Error(ErrorCode::not_possible,
                concat("its workspace needs ", format_bytes(static_cast<double>(needed)), "; ",
                       format_bytes(static_cast<double>(free)), " are free"));
  workspace_ = TensorMemory(needed, tensors.gpu());
  for (int copy = 0; copy < tensors.copies(); ++copy) {
    bindings_.push_back(backend.bind(shape, tensors.kv(copy), KvLayout::paged));
    RunArgs args = tensors.args(copy);
    args.kv = bindings_.back().get();
    args.workspace = workspace_.data();
    plan_->check(args);
    args_.push_back(args);
  }
}

void Candidate::run_next() {
  plan_->run(args_[next_]);
  next_ = (next_ + 1) % args_.size();
}

void Candidate::run_poisoned(int copy) {
  tensors_.poison(copy);
  workspace_.set_bytes(std::byte{0xff});
  plan_->run(args_[static_cast<std::size_t>(copy)]);
  if (tensors_.gpu() != nullptr) tensors_.gpu()->wait();
}

std::optional<double> Candidate::repeated_rows() {
  const std::optional<std::int64_t> before = plan_->repeated_rows();
  if (!before) return {};
  for (const RunArgs& args : args_) plan_->run(args);
  return static_cast<double>(*plan_->repeated_rows() - *before) / copies();
}

}  // namespace headwise::bench
