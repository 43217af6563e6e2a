#pragma once

#include <cstdint>
#include <vector>

#include "headwise/attention_shape.h"
#include "headwise/step_batch.h"

namespace headwise::cuda {

/// Requests whose first keys can be read once for all of them.
struct PrefixGroup {
  std::vector<std::int32_t> requests;  ///< two at least, in the step's order, with new tokens
  std::int32_t keys = 0;               ///< which all of their rows see
};

/// The groups that a step states, with a multiple of `tile` keys each. A request with rows that do
/// not see all of them is left out of its group. The step's q_start is filled in.
std::vector<PrefixGroup> prefix_groups(const AttentionShape& shape, const StepBatch& step,
                                       std::int32_t tile);

}  // namespace headwise::cuda
