#include "cuda/schedule/shared_prefixes.h"

#include <algorithm>
#include <cstddef>

#include "cuda/schedule/prefix_groups.h"

namespace headwise::cuda {
namespace {

class Sharing {
 public:
  Sharing(const AttentionShape& shape, const StepBatch& step, const ItemCosts& costs,
          Schedule& schedule)
      : shape_(shape), step_(step), costs_(costs), schedule_(schedule) {}

  SharedPrefixes run() {
    std::int32_t token = 0;
    for (const std::int32_t q_len : step_.q_lens) {
      first_tokens_.push_back(token);
      token += q_len;
    }
    result_.sharers.resize(step_.q_lens.size());
    const std::int32_t tile = std::max(costs_.rules.narrow_keys, costs_.rules.wide_keys);
    for (const PrefixGroup& group : prefix_groups(shape_, step_, tile))
      if (pays(group)) share(group);
    return std::move(result_);
  }

 private:
  std::int64_t rows_of(std::int32_t request) const {
    return std::int64_t{step_.q_lens[static_cast<std::size_t>(request)]} * shape_.group_size();
  }

  bool pays(const PrefixGroup& group) {
    std::int64_t rows = 0;
    std::int64_t apart = 0;
    for (const std::int32_t r : group.requests) {
      rows += rows_of(r);
      apart += costs_.of_all_tiles(rows_of(r), group.keys);
    }
    const std::int64_t together =
        costs_.of_all_tiles(rows, group.keys) + costs_.items(rows) * ItemCosts::kOverhead;
    const std::int64_t part_rows = 2 * rows * shape_.kv_heads;
    if (together >= apart || part_rows_ + part_rows > costs_.rules.most_part_rows) return false;
    part_rows_ += part_rows;
    return true;
  }

  void share(const PrefixGroup& group) {
    SharedPrefix prefix{.leader = group.requests.front(),
                        .keys = group.keys,
                        .first_token = static_cast<std::int64_t>(schedule_.shared_tokens.size()),
                        .first_split = static_cast<std::int32_t>(schedule_.splits.size()),
                        .split_at = {}};
    for (const std::int32_t r : group.requests) {
      const auto at = static_cast<std::size_t>(r);
      result_.sharers[at] = {static_cast<std::int32_t>(result_.prefixes.size()),
                             static_cast<std::int32_t>(prefix.split_at.size())};
      for (std::int32_t token = 0; token < step_.q_lens[at]; ++token)
        schedule_.shared_tokens.push_back({first_tokens_[at] + token, r});
      const std::int64_t most = costs_.rules.wide_rows;
      for (std::int64_t row = 0; row < rows_of(r); row += most)
        prefix.split_at.push_back(prefix.rows + row);
      prefix.most_split_rows = std::max(prefix.most_split_rows, std::min(rows_of(r), most));
      prefix.rows += rows_of(r);
    }
    schedule_.splits.resize(schedule_.splits.size() +
                            prefix.split_at.size() * static_cast<std::size_t>(shape_.kv_heads));
    result_.prefixes.push_back(std::move(prefix));
  }

  const AttentionShape& shape_;
  const StepBatch& step_;
  const ItemCosts& costs_;
  Schedule& schedule_;
  std::vector<std::int32_t> first_tokens_;
  std::int64_t part_rows_ = 0;
  SharedPrefixes result_;
};

}  // namespace

WorkItem SharedPrefix::item(const StepBatch& step, std::int64_t row, std::int32_t wide_rows) const {
  const std::int64_t end = std::min(rows, row + wide_rows);
  const auto first = std::upper_bound(split_at.begin(), split_at.end(), row) - 1;
  const auto behind = std::lower_bound(split_at.begin(), split_at.end(), end);
  return {.request = leader,
          .row = static_cast<std::int32_t>(row),
          .rows = static_cast<std::int32_t>(end - row),
          .slot_end = keys,
          .split = split(0, first - split_at.begin()),
          .first_token = first_token,
          .kv_start = step.kv_start.empty() ? 0 : step.kv_start[static_cast<std::size_t>(leader)],
          .kv_len = keys,
          .shared_by = static_cast<std::int32_t>(behind - first)};
}

void SharedPrefix::add_parts(Split& split, std::int64_t index, std::int32_t head,
                             const ItemCosts& costs) const {
  const std::int64_t row = split_at[static_cast<std::size_t>(index)];
  const std::int64_t most = costs.rules.wide_rows;
  const std::int64_t items = (row + split.rows - 1) / most - row / most + 1;
  split.prefix_row = row_of_part(head, 0) + static_cast<std::int32_t>(row);
  split.prefix_parts = static_cast<std::int32_t>(parts);
  split.prefix_rows = static_cast<std::int32_t>(rows);
  split.items += static_cast<std::int32_t>(items * parts);
}

SharedPrefixes share_prefixes(const AttentionShape& shape, const StepBatch& step,
                              const ItemCosts& costs, Schedule& schedule) {
  return Sharing(shape, step, costs, schedule).run();
}

}  // namespace headwise::cuda
