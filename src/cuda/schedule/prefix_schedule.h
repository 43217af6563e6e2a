#pragma once

#include <cstdint>

#include "cuda/schedule/prefix_bundles.h"
#include "cuda/schedule/shares.h"

namespace headwise::cuda {

/// Lays out the launch that reads prefixes: every bundle's rows over its keys, cut into shares by
/// `rules`, whose `rows` are those that bundles were made for. All results are parts, from row
/// `first_part_row` of the workspace on, and `bundles` learns where they lie. `schedule` keeps its
/// memory.
void make_prefix_schedule(const AttentionShape& shape, const StepBatch& step,
                          const ShareRules& rules, std::int64_t first_part_row,
                          PrefixBundles& bundles, Schedule& schedule);

/// The same for a kernel that takes items from a queue: the longest first.
void make_prefix_queue(const AttentionShape& shape, const StepBatch& step, const ShareRules& rules,
                       std::int64_t first_part_row, PrefixBundles& bundles, Schedule& schedule);

/// BundleRules::most_rows: as many as there is memory for.
std::int64_t most_bundled_rows(const AttentionShape& shape, const Capacity& capacity,
                               const ShareRules& rules);

/// Rows of partial results of prefixes whose bundles have at most `bundled_rows` rows.
std::int64_t most_prefix_rows(std::int64_t bundled_rows, const ShareRules& rules);

ScheduleBounds prefix_bounds(const AttentionShape& shape, const Capacity& capacity,
                             const ShareRules& rules);

}  // namespace headwise::cuda
