#include "bench/candidate.h"

#include <cstring>

#include "bench/free_memory.h"
#include "core/check.h"

namespace headwise::bench {

Candidate::Candidate(const Backend& backend, const AttentionShape& shape, StepTensors& tensors,
                     const PlanOptions& options)
    : tensors_(tensors), plan_(backend.plan(shape, tensors.step(), options)) {
  const std::int64_t free = free_memory();
  const std::int64_t needed = plan_->workspace_bytes();
  if (needed > free)
    throw Error(ErrorCode::not_possible,
                concat("its workspace needs ", format_bytes(static_cast<double>(needed)), "; ",
                       format_bytes(static_cast<double>(free)), " are free"));
  workspace_ = Buffer(needed);
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
  if (workspace_.size() > 0)
    std::memset(workspace_.data(), 0xff, static_cast<std::size_t>(workspace_.size()));
  plan_->run(args_[static_cast<std::size_t>(copy)]);
}

}  // namespace headwise::bench
