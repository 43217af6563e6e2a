#pragma once

#include <cstdint>
#include <vector>

#include "cuda/schedule/item_costs.h"
#include "cuda/schedule/schedule.h"

namespace headwise::cuda {

/// A prefix that requests share. For each KV head its rows are those of all its requests, and all
/// items of these rows are cut into the same parts.
struct SharedPrefix {
  std::int32_t leader = 0;  ///< the request whose keys are read
  std::int32_t keys = 0;
  std::int64_t rows = 0;
  std::int64_t first_token = 0;        ///< among the shared tokens
  std::int32_t first_split = 0;        ///< of KV head 0
  std::vector<std::int64_t> split_at;  ///< first row of each split of a KV head
  std::int64_t most_split_rows = 0;
  std::int64_t part_row = 0;  ///< of KV head 0, part 0
  std::int64_t parts = 1;

  std::int32_t split(std::int32_t head, std::int64_t index) const {
    return first_split +
           static_cast<std::int32_t>(head * static_cast<std::int64_t>(split_at.size()) + index);
  }
  std::int32_t row_of_part(std::int32_t head, std::int64_t part) const {
    return static_cast<std::int32_t>(part_row + (head * parts + part) * rows);
  }

  /// The item of its rows from `row` on, all keys of KV head 0.
  WorkItem item(const StepBatch& step, std::int64_t row, std::int32_t wide_rows) const;

  /// Lets `split`, its number `index` of a KV head, merge the prefix's parts of its rows.
  void add_parts(Split& split, std::int64_t index, std::int32_t head, const ItemCosts& costs) const;
};

/// What a request has of a prefix.
struct Sharer {
  std::int32_t prefix = -1;
  std::int32_t split = 0;  ///< its first one among the prefix's
};

struct SharedPrefixes {
  std::vector<SharedPrefix> prefixes;
  std::vector<Sharer> sharers;  ///< [requests], or empty

  Sharer sharer(std::int32_t request) const {
    return sharers.empty() ? Sharer{} : sharers[static_cast<std::size_t>(request)];
  }
  /// Of a request, or null.
  const SharedPrefix* of(std::int32_t request) const {
    const std::int32_t prefix = sharer(request).prefix;
    return prefix < 0 ? nullptr : &prefixes[static_cast<std::size_t>(prefix)];
  }
};

/// Those of the step's groups for which reading the keys once is worth the items that it takes,
/// with room for one part of the prefix and one of what follows. Their tokens go to the schedule,
/// and their splits, empty.
SharedPrefixes share_prefixes(const AttentionShape& shape, const StepBatch& step,
                              const ItemCosts& costs, Schedule& schedule);

}  // namespace headwise::cuda
