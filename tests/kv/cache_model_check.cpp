// What the model compares.

#include <algorithm>

#include "core/check.h"
#include "kv/kv_cache_state.h"
#include "tests/kv/cache_model.h"

namespace headwise {
namespace {

void require(bool ok, const char* what, std::int64_t got, std::int64_t wanted) {
  if (!ok) throw Difference(concat(what, ": ", got, ", not ", wanted));
}

void require_equal(const char* what, std::int64_t got, std::int64_t wanted) {
  require(got == wanted, what, got, wanted);
}

std::vector<std::int64_t> numbers_of(const KvCache& cache) {
  const KvCounters c = cache.counters();
  std::vector<std::int64_t> numbers = {c.lookups,       c.queried_tokens,       c.hits,
                                       c.reused_tokens, c.partial_hits,         c.stored_pages,
                                       c.evictions,     c.evicted_window_pages, c.copies_on_write};
  for (int group = 0; group < cache.groups(); ++group) {
    const KvUsage u = cache.usage(group);
    numbers.insert(numbers.end(), {u.reserved, u.used, u.shared, u.cached, u.free});
  }
  return numbers;
}

}  // namespace

void CacheModel::check() {
  require_equal("sequences", cache_.sequences(), std::ssize(twins_));
  for (const auto& twin : twins_) check_sequence(*twin);
  if (step_) check_step();
  for (int group = 0; group < cache_.groups(); ++group) check_pages(group);
  check_counters();
}

void CacheModel::check_sequence(const Twin& twin) {
  require_equal("length", cache_.length(twin.id), std::ssize(twin.tokens));
  for (int group = 0; group < cache_.groups(); ++group) {
    const Tokens& table = twin.tables[static_cast<std::size_t>(group)];
    if (!std::ranges::equal(cache_.pages(twin.id, group), table))
      throw Difference(concat("the table of group ", group, " is another one"));
    const std::int64_t wrong = content_.first_wrong(group, table, twin.tokens, twin.hashes);
    if (wrong >= 0)
      throw Difference(concat("token ", wrong, " in group ", group, " is not what was written"));
  }
}

/// The step's tables are those of its sequences, where pages are.
void CacheModel::check_step() {
  const auto q_lens = step_.q_lens();
  const auto kv_lens = step_.kv_lens();
  require_equal("requests", std::ssize(q_lens), std::ssize(requests_));
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    require_equal("q_len", q_lens[r], requests_[r].new_tokens);
    require_equal("kv_len", kv_lens[r], std::ssize(requests_[r].tokens));
  }
  for (int group = 0; group < cache_.groups(); ++group) {
    const BlockTables tables = step_.tables(group);
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      const Tokens& wanted = requests_[r].twin->tables[static_cast<std::size_t>(group)];
      const std::int32_t* row = tables.pages + std::int64_t(r) * tables.request_stride;
      for (std::size_t entry = 0; entry < wanted.size(); ++entry)
        if (wanted[entry] != -1) require_equal("entry of a step", row[entry], wanted[entry]);
    }
    check_prefixes(group);
  }
}

/// Requests that begin with the same page are told to share what they share.
void CacheModel::check_prefixes(int group) {
  StepBatch batch;
  step_.describe_prefixes(group, batch);
  const std::size_t count = requests_.size();
  require_equal("prefix groups", std::ssize(batch.prefix_group), std::int64_t(count));
  require_equal("prefix tokens", std::ssize(batch.prefix_tokens), std::int64_t(count));
  const auto table = [&](std::size_t r) -> const Tokens& {
    return requests_[r].twin->tables[static_cast<std::size_t>(group)];
  };
  for (std::size_t r = 0; r < count; ++r) {
    if (table(r).empty() || table(r).front() == -1) continue;
    std::int64_t shared = setup_.max_tokens, told = setup_.max_tokens;
    for (std::size_t s = 0; s < count; ++s) {
      const bool same = !table(s).empty() && table(s).front() == table(r).front();
      const bool told_same = batch.prefix_group[s] == batch.prefix_group[r];
      require_equal("prefix group", told_same, same);
      if (!same) continue;
      const auto pages = std::ranges::mismatch(table(r), table(s)).in1 - table(r).begin();
      shared = std::min({shared, pages * setup_.page_size, std::ssize(requests_[s].twin->tokens)});
      told = std::min<std::int64_t>(told, batch.prefix_tokens[s]);
    }
    require(batch.prefix_group[r] >= 0, "prefix group", batch.prefix_group[r], 0);
    require_equal("shared tokens", told, shared);
  }
}

std::vector<int> CacheModel::holders(int group) const {
  std::vector<int> held(static_cast<std::size_t>(setup_.groups[std::size_t(group)].pages));
  for (const auto& twin : twins_)
    for (const std::int32_t page : twin->tables[static_cast<std::size_t>(group)])
      if (page != -1) ++held[static_cast<std::size_t>(page)];
  for (const auto& [of, page] : originals_)
    if (of == group) ++held[static_cast<std::size_t>(page)];
  return held;
}

bool CacheModel::is_cached(int group, std::int32_t page) const {
  return cache_.state().pool(group).refs().is_cached(page);
}

std::int64_t CacheModel::free_pages(int group) const {
  const KvUsage usage = cache_.usage(group);
  return usage.free / (usage.reserved / setup_.groups[static_cast<std::size_t>(group)].pages);
}

void CacheModel::check_pages(int group) {
  const std::vector<int> held = holders(group);
  const PageRefs& refs = cache_.state().pool(group).refs();
  std::int64_t used = 0, shared = 0, cached = 0, known = 0;
  for (std::int32_t page = 0; page < std::ssize(held); ++page) {
    const int holding = held[static_cast<std::size_t>(page)];
    require_equal("holders of a page", refs.sequences(page), holding);
    used += holding > 0 ? 1 : 0;
    shared += holding > 1 ? 1 : 0;
    if (!refs.is_cached(page)) continue;
    ++known;
    cached += holding == 0 ? 1 : 0;
    const Filled& filled = filled_[static_cast<std::size_t>(group)][static_cast<std::size_t>(page)];
    require_equal("tokens of a cached page", std::ssize(filled.tokens), setup_.page_size);
    if (content_.first_wrong(group, std::span(&page, 1), filled.tokens, filled.hashes) >= 0)
      throw Difference(concat("page ", page, " of group ", group, " is cached, and was changed"));
  }
  const CacheSetup::Group& setup = setup_.groups[static_cast<std::size_t>(group)];
  const std::int64_t bytes = std::int64_t{8} * setup_.page_size * setup.layers;
  const KvUsage usage = cache_.usage(group);
  require_equal("reserved", usage.reserved, setup.pages * bytes);
  require_equal("used", usage.used, used * bytes);
  require_equal("shared", usage.shared, shared * bytes);
  require_equal("cached", usage.cached, cached * bytes);
  require_equal("free", usage.free, (setup.pages - used - cached) * bytes);
  require_equal("free pages", refs.free(), setup.pages - used - cached);
  const KvCounters counters = cache_.counters();
  if (setup.window < 0)  // each known page of tokens has one of such a group
    require_equal("cached pages", known, counters.stored_pages - counters.evictions);
}

void CacheModel::check_counters() {
  const KvCounters now = cache_.counters();
  require_equal("lookups", now.lookups, counters_.lookups);
  require_equal("queried_tokens", now.queried_tokens, counters_.queried_tokens);
  require_equal("hits", now.hits, counters_.hits);
  require_equal("reused_tokens", now.reused_tokens, counters_.reused_tokens);
  require_equal("partial_hits", now.partial_hits, counters_.partial_hits);
  require_equal("copies_on_write", now.copies_on_write, counters_.copies_on_write);
  const std::int64_t evicted = now.evictions + now.evicted_window_pages;
  const std::int64_t before = counters_.evictions + counters_.evicted_window_pages;
  require(evicted == before || (evicted > before && may_evict_), "evictions", evicted, before);
  if (evicted > before) all_known_is_there_ = false;
  counters_ = now;
}

void CacheModel::expect_error(std::initializer_list<ErrorCode> codes,
                              const std::function<void()>& call, const std::string& text) {
  const auto before = numbers_of(cache_);
  try {
    call();
  } catch (const Error& error) {
    if (std::ranges::count(codes, error.code()) == 0)
      throw Difference(concat("an error of another kind: ", error.what()));
    if (std::string(error.what()).find(text) == std::string::npos)
      throw Difference(concat("'", error.what(), "' does not say '", text, "'"));
    if (numbers_of(cache_) != before) throw Difference("a failed call changed something");
    return;
  }
  throw Difference("a call should have failed");
}

}  // namespace headwise
