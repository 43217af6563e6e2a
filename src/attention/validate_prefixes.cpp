#include <algorithm>
#include <map>
#include <vector>

#include "attention/key_runs.h"
#include "attention/validate.h"
#include "core/check.h"
#include "headwise/step_batch.h"

namespace headwise {
namespace {

/// A request of a group, and as many first slots as all of the group share.
struct Sharer {
  std::size_t request = 0;
  std::int32_t tokens = 0;
};

/// The first request of each group.
std::map<std::int32_t, Sharer> groups_of(const StepBatch& step) {
  std::map<std::int32_t, Sharer> groups;
  for (std::size_t r = 0; r < step.prefix_group.size(); ++r) {
    if (step.prefix_group[r] < 0 || step.q_lens[r] == 0) continue;
    const auto [group, added] =
        groups.try_emplace(step.prefix_group[r], Sharer{r, step.prefix_tokens[r]});
    group->second.tokens = std::min(group->second.tokens, step.prefix_tokens[r]);
  }
  return groups;
}

Request request_of(const StepBatch& step, std::size_t r, std::int32_t keys) {
  const std::int64_t q_start =
      step.q_start.empty() ? std::int64_t{step.kv_lens[r]} - step.q_lens[r] : step.q_start[r];
  return {static_cast<std::int64_t>(r), 0, step.q_lens[r], keys, q_start};
}

/// Calls `visit(entry, page)` for what the request reads of its table.
template <class Visit>
void for_each_entry(const AttentionShape& shape, const StepBatch& step, const Request& request,
                    int head, const Visit& visit) {
  for_each_key_run(step, request, head, Mask(shape).seen_from(request.rows()),
                   [&](const KeyRun& run) { visit(run.slot / step.tables.page_size, run.page); });
}

/// Entries of the block tables that both requests read are the same.
void check_same_pages(const AttentionShape& shape, const StepBatch& step, const Sharer& first,
                      std::size_t r) {
  const Request one = request_of(step, first.request, first.tokens);
  const Request other = request_of(step, r, first.tokens);
  const std::int64_t entries = first.tokens / step.tables.page_size + 1;
  for (int head = 0; head < step.tables.heads; ++head) {
    std::vector<std::int64_t> pages(static_cast<std::size_t>(entries), -1);
    for_each_entry(shape, step, one, head, [&](std::int64_t entry, std::int64_t page) {
      pages[static_cast<std::size_t>(entry)] = page;
    });
    for_each_entry(shape, step, other, head, [&](std::int64_t entry, std::int64_t page) {
      const std::int64_t expected = pages[static_cast<std::size_t>(entry)];
      check(expected < 0 || page == expected, "prefix_tokens: entry ", entry,
            " of the block table of request ", r, " is page ", page, ", of request ", first.request,
            " page ", expected, "; their group shares ", first.tokens, " tokens");
    });
  }
}

}  // namespace

void check_prefixes(const AttentionShape& shape, const StepBatch& step) {
  const std::size_t requests = step.q_lens.size();
  check(step.prefix_group.empty() || step.prefix_group.size() == requests, "prefix_group has ",
        step.prefix_group.size(), " entries; q_lens has ", requests);
  check(step.prefix_tokens.size() == step.prefix_group.size(), "prefix_tokens has ",
        step.prefix_tokens.size(), " entries; prefix_group has ", step.prefix_group.size());
  for (std::size_t r = 0; r < step.prefix_group.size(); ++r) {
    check(step.prefix_group[r] >= -1, "prefix_group[", r, "] is ", step.prefix_group[r]);
    check(step.prefix_tokens[r] >= 0 && step.prefix_tokens[r] <= step.kv_lens[r], "prefix_tokens[",
          r, "] is ", step.prefix_tokens[r], "; kv_lens[", r, "] is ", step.kv_lens[r]);
  }
  const bool paged = step.layout == KvLayout::paged;
  if (paged && step.tables.device.type != DeviceType::cpu) return;
  const auto groups = groups_of(step);
  for (std::size_t r = 0; r < step.prefix_group.size(); ++r) {
    const auto group = groups.find(step.prefix_group[r]);
    if (group == groups.end() || step.q_lens[r] == 0 || group->second.tokens == 0) continue;
    const Sharer& first = group->second;
    if (paged)
      check_same_pages(shape, step, first, r);
    else
      check(step.kv_start[r] == step.kv_start[first.request], "prefix_tokens: kv_start[", r,
            "] is ", step.kv_start[r], ", kv_start[", first.request, "] is ",
            step.kv_start[first.request], "; their group shares ", first.tokens, " tokens");
  }
}

}  // namespace headwise
