#include "cuda/schedule/prefix_groups.h"

#include <algorithm>
#include <cstddef>

#include "attention/mask.h"

namespace headwise::cuda {
namespace {

/// Whether every row of request `r` sees slots 0 ... keys - 1, which stand where they lie.
bool sees_all(const AttentionShape& shape, const StepBatch& step, std::size_t r,
              std::int32_t keys) {
  const Mask mask(shape);
  const std::int64_t first = step.q_start[r];
  return mask.seen_from(first).last >= keys - 1 &&
         mask.seen_from(first + step.q_lens[r] - 1).first <= 0;
}

}  // namespace

std::vector<PrefixGroup> prefix_groups(const AttentionShape& shape, const StepBatch& step,
                                       std::int32_t tile) {
  std::vector<PrefixGroup> groups;
  if (step.layout == KvLayout::paged && step.tables.positions != nullptr) return groups;
  std::vector<std::size_t> sharers;
  for (std::size_t r = 0; r < step.prefix_group.size(); ++r)
    if (step.prefix_group[r] >= 0 && step.q_lens[r] > 0) sharers.push_back(r);
  std::stable_sort(sharers.begin(), sharers.end(), [&](std::size_t a, std::size_t b) {
    return step.prefix_group[a] < step.prefix_group[b];
  });
  for (auto first = sharers.begin(); first != sharers.end();) {
    const auto end = std::find_if(first, sharers.end(), [&](std::size_t r) {
      return step.prefix_group[r] != step.prefix_group[*first];
    });
    const std::size_t least = *std::min_element(first, end, [&](std::size_t a, std::size_t b) {
      return step.prefix_tokens[a] < step.prefix_tokens[b];
    });
    PrefixGroup group{.requests = {}, .keys = step.prefix_tokens[least] / tile * tile};
    for (; first != end; ++first)
      if (sees_all(shape, step, *first, group.keys))
        group.requests.push_back(static_cast<std::int32_t>(*first));
    if (group.keys > 0 && group.requests.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace headwise::cuda
