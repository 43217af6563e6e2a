#pragma once

#include <cstdint>

#include "cuda/schedule/schedule.h"
#include "cuda/schedule/shares.h"
#include "cuda/sm90/kernel_row.h"
#include "headwise/backend.h"

namespace headwise::cuda::sm90 {

/// New tokens of a request times the query heads of a group.
std::int64_t rows_of(const Problem& problem);

/// Of the launch that reads shared prefixes, by `row`.
ShareRules prefix_rules_for(const KernelRow& row, int blocks);

/// How a plan cuts its steps: into shares that end together, where there are such, or into items
/// for a queue.
class StepCutting {
 public:
  /// For a kernel that has a block on each multiprocessor. `following_rows`: ShareRules has it.
  StepCutting(const KernelRow& row, const Problem& problem, int multiprocessors,
              std::int64_t following_rows);

  int blocks() const { return shares_.blocks; }
  std::int64_t most_part_rows() const { return shares_.most_part_rows(); }
  ScheduleBounds bounds(const Problem& problem) const;

  /// As make_shares() and make_schedule() have it.
  void cut(const AttentionShape& shape, const StepBatch& step, const PrefixBundles& prefixes,
           Schedule& schedule);

 private:
  ShareRules shares_;
  CuttingRules queue_;
};

}  // namespace headwise::cuda::sm90
