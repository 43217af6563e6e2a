#include "cuda/schedule/prefix_bundles.h"

#include <algorithm>
#include <cstddef>

#include "cuda/schedule/prefix_groups.h"

namespace headwise::cuda {
namespace {

/// Of a prefix that is worth the parts that it leaves.
constexpr std::int32_t kLeastKeys = 128;

class Bundling {
 public:
  Bundling(const AttentionShape& shape, const StepBatch& step, const BundleRules& rules)
      : shape_(shape), step_(step), rules_(rules) {}

  PrefixBundles run() {
    first_tokens_.reserve(step_.q_lens.size());
    std::int32_t token = 0;
    for (const std::int32_t q_len : step_.q_lens) {
      first_tokens_.push_back(token);
      token += q_len;
    }
    result_.members.resize(step_.q_lens.size());
    for (const PrefixGroup& group : prefix_groups(shape_, step_, rules_.tile))
      if (group.keys >= kLeastKeys) bundle(group);
    return std::move(result_);
  }

 private:
  using Requests = std::vector<std::int32_t>;

  std::int64_t rows_of(std::int32_t request) const {
    return std::int64_t{step_.q_lens[static_cast<std::size_t>(request)]} * shape_.group_size();
  }
  std::int64_t rows_of(const Requests& requests) const {
    std::int64_t rows = 0;
    for (const std::int32_t r : requests) rows += rows_of(r);
    return rows;
  }

  /// Bundles of about the same size, so that no request is left over alone.
  void bundle(const PrefixGroup& group) {
    Requests requests;
    for (const std::int32_t r : group.requests) {
      const auto at = static_cast<std::size_t>(r);
      const bool cached = step_.kv_lens[at] - step_.q_lens[at] >= group.keys;
      if (cached && 2 * rows_of(r) <= rules_.rows) requests.push_back(r);
    }
    const std::int64_t rows = rows_of(requests);
    const std::int64_t bundles = std::max<std::int64_t>(1, (rows + rules_.rows - 1) / rules_.rows);
    const std::int64_t enough = (rows + bundles - 1) / bundles;
    Requests together;
    std::int64_t here = 0;
    for (const std::int32_t r : requests) {
      if (here >= enough || here + rows_of(r) > rules_.rows) {
        add(group.keys, together);
        together.clear();
        here = 0;
      }
      together.push_back(r);
      here += rows_of(r);
    }
    add(group.keys, together);
  }

  void add(std::int32_t keys, const Requests& requests) {
    const std::int64_t part_rows = rows_of(requests) * shape_.kv_heads;
    if (requests.size() < 2 || bundled_rows_ + part_rows > rules_.most_rows) return;
    bundled_rows_ += part_rows;
    PrefixBundle bundle{.leader = requests.front(), .keys = keys};
    for (const std::int32_t r : requests) {
      const auto at = static_cast<std::size_t>(r);
      result_.members[at] = {static_cast<std::int32_t>(result_.bundles.size()),
                             bundle.tokens * shape_.group_size()};
      for (std::int32_t token = 0; token < step_.q_lens[at]; ++token)
        result_.tokens.push_back({first_tokens_[at] + token, r});
      bundle.tokens += step_.q_lens[at];
    }
    result_.bundles.push_back(bundle);
  }

  const AttentionShape& shape_;
  const StepBatch& step_;
  const BundleRules& rules_;
  std::vector<std::int32_t> first_tokens_;  // each request's among the step's
  std::int64_t bundled_rows_ = 0;
  PrefixBundles result_;
};

}  // namespace

std::int32_t PrefixBundles::keys_of(std::int32_t request) const {
  if (members.empty()) return 0;
  const std::int32_t bundle = members[static_cast<std::size_t>(request)].bundle;
  return bundle < 0 ? 0 : bundles[static_cast<std::size_t>(bundle)].keys;
}

void PrefixBundles::add_parts(Split& split, std::int32_t request, std::int32_t kv_head,
                              std::int32_t row) const {
  const Member& member = members[static_cast<std::size_t>(request)];
  const std::size_t kv_heads = parts.size() / bundles.size();
  const PrefixParts& of_head =
      parts[static_cast<std::size_t>(member.bundle) * kv_heads + static_cast<std::size_t>(kv_head)];
  split.prefix_row = of_head.part_row + member.row + row;
  split.prefix_parts = of_head.parts;
  split.prefix_rows = of_head.rows;
}

PrefixBundles bundle_prefixes(const AttentionShape& shape, const StepBatch& step,
                              const BundleRules& rules) {
  return Bundling(shape, step, rules).run();
}

}  // namespace headwise::cuda
