#pragma once

#include <cstdint>
#include <vector>

#include "cuda/schedule/work_item.h"
#include "headwise/attention_shape.h"
#include "headwise/step_batch.h"

namespace headwise::cuda {

/// Requests with the same first keys, so few that their rows of a KV head are one item.
struct PrefixBundle {
  std::int32_t leader = 0;  ///< the request whose keys are read
  std::int32_t keys = 0;
  std::int32_t tokens = 0;  ///< new ones, of all its requests
};

/// Where the results of a bundle's rows over the prefix lie, for one KV head: those of part p from
/// part_row + p * rows on.
struct PrefixParts {
  std::int32_t part_row = 0;
  std::int32_t parts = 0;
  std::int32_t rows = 0;
};

/// What a step's requests have in common. A launch of its own reads a bundle's keys once for all of
/// its rows, and leaves parts; the step's launch reads what follows, and merges them.
struct PrefixBundles {
  /// What a request has of a bundle.
  struct Member {
    std::int32_t bundle = -1;  ///< -1: none
    std::int32_t row = 0;      ///< its first one among the bundle's
  };

  std::vector<PrefixBundle> bundles;
  std::vector<SharedToken> tokens;  ///< each bundle's, one behind the other
  std::vector<Member> members;      ///< [requests], or empty
  std::vector<PrefixParts> parts;   ///< [bundles, kv_heads], once they are cut (prefix_schedule.h)

  bool shares(std::int32_t request) const { return keys_of(request) > 0; }
  /// Those that the step's launch need not read.
  std::int32_t keys_of(std::int32_t request) const;
  /// Lets `split`, of a request's rows from `row` on, merge the prefix's parts.
  void add_parts(Split& split, std::int32_t request, std::int32_t kv_head, std::int32_t row) const;
};

struct BundleRules {
  std::int64_t rows = 128;     ///< of a bundle and KV head, at most
  std::int32_t tile = 64;      ///< keys: prefixes are multiples of it
  std::int64_t most_rows = 0;  ///< of all bundles, times KV heads
};

/// Bundles of those of the step's groups for which reading keys once is worth a part a row. Their
/// keys are all cached: a launch may read them before the one that it follows is complete.
PrefixBundles bundle_prefixes(const AttentionShape& shape, const StepBatch& step,
                              const BundleRules& rules);

}  // namespace headwise::cuda
