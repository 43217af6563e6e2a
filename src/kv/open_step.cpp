#include "kv/open_step.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "kv/kept_pages.h"
#include "kv/kv_cache_state.h"

namespace headwise {
namespace {

/// Whether the sequence's next token goes to a page that others hold, too.
bool shares_last_page(const PageRefs& refs, const Sequence& sequence, const std::int32_t* table,
                      int page_size) {
  return sequence.length % page_size != 0 && !refs.is_private(table[sequence.entries - 1]);
}

}  // namespace

OpenStep::OpenStep(int max_requests, int groups) {
  const auto most = static_cast<std::size_t>(max_requests);
  requests_.reserve(most);
  q_lens_.reserve(most);
  kv_lens_.reserve(most);
  copied_.reserve(most * static_cast<std::size_t>(groups));
  for (auto* of_requests : {&prefix_groups_, &prefix_tokens_, &prefix_order_})
    of_requests->reserve(most);
  tables_.reserve(static_cast<std::size_t>(groups));
}

void OpenStep::begin(KvCacheState& cache, std::span<const KvRequest> requests, void* stream) {
  check(!open_, "a step is open already");
  check(requests.size() <= static_cast<std::size_t>(cache.options.max_requests), "a step takes ",
        cache.options.max_requests, " requests, not ", requests.size());
  open_ = true;
  try {
    for (const KvRequest& request : requests) add(cache, request);
    if (pages_moved_) cache.make_room(cache.wanted);
    for (std::size_t r = 0; r < requests.size(); ++r) {
      if (requests_[r].takes_pages) take_pages(cache, r, stream);
      cache.step_tables.set(static_cast<int>(r), requests_[r].id, cache.sequences, stream);
    }
  } catch (...) {
    rollback(cache);
    throw;
  }
  cache.copies_on_write += std::ssize(copied_);
  publish(cache);
}

/// Notes a request, and in cache.wanted the pages that it needs. Most of a long decode's need none:
/// this is what such a token costs, so that it does without divisions.
void OpenStep::add(KvCacheState& cache, const KvRequest& request) {
  Sequence& sequence = cache.at_rest(request.sequence);
  const std::int64_t most = cache.options.max_tokens;
  check(request.new_tokens >= 0 && sequence.length + std::int64_t{request.new_tokens} <= most,
        "a sequence of ", sequence.length, " tokens cannot take ", request.new_tokens,
        " more; it may have ", most);
  const std::int32_t length = sequence.length + request.new_tokens;
  check(request.tokens.empty() || static_cast<std::int64_t>(request.tokens.size()) == length,
        "tokens are ", request.tokens.size(), "; the sequence has ", length, " with its new ones");
  const std::int64_t room = std::int64_t{sequence.entries} * cache.options.page_size;
  const bool takes_pages = request.new_tokens > 0 && (length > room || !sequence.owns_last_page);
  if (takes_pages) count_pages(cache, sequence, request.sequence, length);
  requests_.push_back({request.sequence, sequence.entries, takes_pages, request.tokens});
  q_lens_.push_back(request.new_tokens);
  kv_lens_.push_back(length);
  sequence.in_step = true;
}

void OpenStep::count_pages(KvCacheState& cache, const Sequence& sequence, SequenceId id,
                           std::int32_t length) {
  const int page_size = cache.options.page_size;
  const std::int64_t fresh = pages_of(length, page_size) - sequence.entries;
  if (!pages_moved_) std::ranges::fill(cache.wanted, 0);  // the step's first
  for (int group = 0; group < cache.groups(); ++group) {
    const std::int32_t* table = cache.sequences.table(group, id.row);
    const bool copies = shares_last_page(cache.pool(group).refs(), sequence, table, page_size);
    cache.wanted[static_cast<std::size_t>(group)] += fresh + (copies ? 1 : 0);
  }
  pages_moved_ = true;
}

void OpenStep::take_pages(KvCacheState& cache, std::size_t r, void* stream) {
  const std::int32_t row = requests_[r].id.row;
  Sequence& sequence = cache.sequences.row(row);
  for (int group = 0; group < cache.groups(); ++group) copy_shared_page(cache, r, group, stream);
  const auto entries = static_cast<std::int32_t>(pages_of(kv_lens_[r], cache.options.page_size));
  for (; sequence.entries < entries; ++sequence.entries)
    for (int group = 0; group < cache.groups(); ++group) {
      cache.sequences.table(group, row)[sequence.entries] = cache.pool(group).refs().take();
      cache.sequences.note_change(group, row, sequence.entries);
    }
  sequence.owns_last_page = true;
}

void OpenStep::copy_shared_page(KvCacheState& cache, std::size_t r, int group, void* stream) {
  const std::int32_t row = requests_[r].id.row;
  const Sequence& sequence = cache.sequences.row(row);
  std::int32_t* table = cache.sequences.table(group, row);
  PageRefs& refs = cache.pool(group).refs();
  if (!shares_last_page(refs, sequence, table, cache.options.page_size)) return;
  const std::int32_t entry = sequence.entries - 1;
  copied_.push_back({row, group, entry, table[entry]});
  table[entry] = refs.take();
  cache.sequences.note_change(group, row, entry);
  cache.copy_page(group, table[entry], copied_.back().original, stream);
}

void OpenStep::commit(KvCacheState& cache, std::span<const std::int32_t> accepted) {
  check(accepted.size() == requests_.size(), accepted.size(), " numbers of accepted tokens for ",
        requests_.size(), " requests");
  for (std::size_t r = 0; r < accepted.size(); ++r)
    check(accepted[r] >= 0 && accepted[r] <= q_lens_[r], "request ", r, " has ", q_lens_[r],
          " new tokens, not ", accepted[r]);
  for (std::size_t r = 0; r < accepted.size(); ++r)
    if (accepted[r] < q_lens_[r]) give_back_pages(cache, r, accepted[r]);
  std::ranges::copy(accepted, q_lens_.begin());
  commit(cache);
}

void OpenStep::commit(KvCacheState& cache) {
  for (const CopiedPage& page : copied_) cache.pool(page.group).refs().release(page.original);
  pages_moved_ = pages_moved_ || !copied_.empty();
  for (std::size_t r = 0; r < requests_.size(); ++r) advance(cache, r);
  close(cache);
}

void OpenStep::advance(KvCacheState& cache, std::size_t r) {
  Sequence& sequence = cache.sequences.row(requests_[r].id.row);
  sequence.length += q_lens_[r];
  sequence.in_step = false;
  if (cache.prefixes && !requests_[r].tokens.empty()) publish_prefix(cache, r);
  for (const int group : cache.windowed) pass_window(cache, r, group);
}

/// Those that were taken for tokens that are not accepted.
void OpenStep::give_back_pages(KvCacheState& cache, std::size_t r, std::int32_t accepted) {
  const std::int32_t row = requests_[r].id.row;
  Sequence& sequence = cache.sequences.row(row);
  const auto entries = static_cast<std::int32_t>(
      pages_of(sequence.length + std::int64_t{accepted}, cache.options.page_size));
  if (entries == sequence.entries) return;
  for (int group = 0; group < cache.groups(); ++group) {
    cache.release(group, row, entries, sequence.entries);
    cache.sequences.note_change(group, row, entries);
  }
  sequence.entries = entries;
  sequence.owns_last_page = false;  // it may be an older one
  pages_moved_ = true;
}

void OpenStep::publish_prefix(KvCacheState& cache, std::size_t r) {
  static const PrefixKey no_extras;
  const auto& [id, old_entries, takes_pages, tokens] = requests_[r];
  Sequence& sequence = cache.sequences.row(id.row);
  const std::int32_t full = sequence.length / cache.options.page_size;
  if (full <= sequence.cursor.pages) return;
  tables_.clear();
  for (int group = 0; group < cache.groups(); ++group)
    tables_.push_back(cache.sequences.table(group, id.row));
  cache.prefixes->store(sequence.cursor, tokens, full, sequence.key ? *sequence.key : no_extras,
                        tables_);
  pages_moved_ = true;
}

/// Releases what no token to come will see.
void OpenStep::pass_window(KvCacheState& cache, std::size_t r, int group) {
  const std::int32_t row = requests_[r].id.row;
  const Sequence& sequence = cache.sequences.row(row);
  const std::int64_t kept = cache.options.groups[static_cast<std::size_t>(group)].window_slack +
                            std::min<std::int64_t>(cache.window_left(group), sequence.length);
  const auto first = std::min(
      static_cast<std::int32_t>(first_kept_page(kept, sequence.length, cache.options.page_size)),
      sequence.entries);
  std::int32_t& first_kept = cache.sequences.first_kept(group, row);
  if (first <= first_kept) return;
  cache.release(group, row, first_kept, first);
  pages_moved_ = true;
  std::int32_t* table = cache.sequences.table(group, row);
  std::fill(table + first_kept, table + first, -1);
  cache.sequences.note_change(group, row, first_kept);
  first_kept = first;
}

void OpenStep::rollback(KvCacheState& cache) noexcept {
  for (const Request& request : requests_) {
    Sequence& sequence = cache.sequences.row(request.id.row);
    for (int group = 0; group < cache.groups(); ++group) {
      cache.release(group, request.id.row, request.old_entries, sequence.entries);
      cache.sequences.note_change(group, request.id.row, request.old_entries);
    }
    sequence.entries = request.old_entries;
    sequence.in_step = false;
    sequence.owns_last_page = sequence.owns_last_page && !request.takes_pages;
  }
  for (const CopiedPage& page : copied_) {
    std::int32_t& entry = cache.sequences.table(page.group, page.row)[page.entry];
    cache.pool(page.group).refs().release(entry);
    entry = page.original;
    cache.sequences.note_change(page.group, page.row, page.entry);
  }
  pages_moved_ = true;
  close(cache);
}

/// Requests with the same first page are compared with the first of them: what all have in common
/// with it, they have in common.
void OpenStep::find_prefixes(const KvCacheState& cache, int group) {
  const auto table = [&](std::int32_t r) {
    const SequenceId id = requests_[static_cast<std::size_t>(r)].id;
    return std::span(cache.sequences.table(group, id.row),
                     static_cast<std::size_t>(cache.sequences.at(id).entries));
  };
  const auto first_page = [&](std::int32_t r) { return table(r).empty() ? -1 : table(r).front(); };
  prefix_groups_.assign(requests_.size(), -1);
  prefix_tokens_.assign(requests_.size(), 0);
  prefix_order_.resize(requests_.size());
  std::iota(prefix_order_.begin(), prefix_order_.end(), 0);
  std::ranges::sort(prefix_order_, {}, [&](std::int32_t r) { return std::pair(first_page(r), r); });
  std::int32_t leader = -1;
  for (const std::int32_t r : prefix_order_) {
    if (first_page(r) < 0) continue;
    if (leader < 0 || first_page(r) != first_page(leader)) leader = r;
    const auto shared = std::ranges::mismatch(table(leader), table(r)).in1 - table(leader).begin();
    const auto index = static_cast<std::size_t>(r);
    prefix_groups_[index] = leader;
    prefix_tokens_[index] = static_cast<std::int32_t>(std::min<std::int64_t>(
        shared * std::int64_t{cache.options.page_size}, kv_lens_[index] - q_lens_[index]));
  }
}

void OpenStep::close(KvCacheState& cache) {
  requests_.clear();
  q_lens_.clear();
  kv_lens_.clear();
  copied_.clear();
  open_ = false;
  publish(cache);
}

void OpenStep::publish(KvCacheState& cache) {
  if (pages_moved_) cache.publish();
  pages_moved_ = false;
}

}  // namespace headwise
