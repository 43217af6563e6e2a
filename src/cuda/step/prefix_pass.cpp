#include "cuda/step/prefix_pass.h"

#include "cuda/schedule/prefix_schedule.h"

namespace headwise::cuda {

PrefixPass::PrefixPass(const Problem& problem, const ShareRules& rules, Order order,
                       std::int32_t tile, std::int64_t first_part_row)
    : rules_(rules),
      order_(order),
      bundle_rules_{.rows = rules.rows,
                    .tile = tile,
                    .most_rows = most_bundled_rows(problem.shape, problem.extent, rules)},
      first_part_row_(first_part_row),
      schedule_(problem.device.index, prefix_bounds(problem.shape, problem.extent, rules)) {}

const PrefixBundles& PrefixPass::take(const AttentionShape& shape, const StepBatch& step,
                                      cudaStream_t stream) {
  bundles_ = bundle_prefixes(shape, step, bundle_rules_);
  if (order_ == Order::shares)
    make_prefix_schedule(shape, step, rules_, first_part_row_, bundles_, laid_out_);
  else
    make_prefix_queue(shape, step, rules_, first_part_row_, bundles_, laid_out_);
  schedule_.write(laid_out_, stream);
  arguments_ = StepArguments(shape, step, schedule_);
  return bundles_;
}

std::int64_t PrefixPass::most_part_rows() const {
  return most_prefix_rows(bundle_rules_.most_rows, rules_);
}

}  // namespace headwise::cuda
