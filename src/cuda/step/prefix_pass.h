#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/schedule/device_schedule.h"
#include "cuda/schedule/prefix_bundles.h"
#include "cuda/schedule/shares.h"
#include "cuda/step/kv_tensors.h"
#include "cuda/step/step_arguments.h"
#include "headwise/backend.h"

namespace headwise::cuda {

/// Whether a plan has a launch of its own for prefixes. Where a token's bits must not depend on the
/// step, nobody reads them together.
inline bool reads_prefixes_once(const Problem& problem) {
  return problem.shared_prefixes && !problem.options.batch_invariant;
}

/// The launch ahead of a step's own that reads the prefixes which its requests share. A plan that
/// was made for such steps has one, and runs it in every step, so that captured graphs replay.
class PrefixPass {
 public:
  enum class Order { shares, queue };  ///< how its kernel takes items

  /// `rules` are its kernel's, `tile` the keys of a tile of either launch. Its results lie in the
  /// workspace from row `first_part_row` of partial results on.
  PrefixPass(const Problem& problem, const ShareRules& rules, Order order, std::int32_t tile,
             std::int64_t first_part_row);

  /// What the step's own launch finds read.
  const PrefixBundles& take(const AttentionShape& shape, const StepBatch& step,
                            cudaStream_t stream);

  StepArgs of_run(const AttentionShape& shape, const RunArgs& args, const KvTensors& kv) const {
    return arguments_.of_run(shape, args, kv);
  }

  int blocks() const { return rules_.blocks; }
  /// On the device; as Plan::repeated_rows() has it.
  const unsigned long long* repeated_rows() const { return schedule_.repeated_rows(); }
  std::int64_t most_part_rows() const;  ///< rows of partial results

 private:
  ShareRules rules_;
  Order order_;
  BundleRules bundle_rules_;
  std::int64_t first_part_row_;
  DeviceSchedule schedule_;
  PrefixBundles bundles_;
  Schedule laid_out_;
  StepArguments arguments_;
};

}  // namespace headwise::cuda
