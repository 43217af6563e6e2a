// Steps of the model: begin, commit, rollback.

#include <algorithm>

#include "core/check.h"
#include "tests/kv/cache_model.h"

namespace headwise {

/// One to three sequences, or none, chosen by `a`, their new tokens' numbers by `b`, the tokens
/// by `c`; those of bits of `d` tell their tokens. Few are too long, or twice the same.
std::vector<CacheModel::Request> CacheModel::requests_of(const CacheOp& op) const {
  std::vector<Request> requests;
  const std::uint32_t wanted = op.a % 16 == 15 ? 0 : 1 + op.a / 16 % 3;
  for (std::uint32_t r = 0; r < wanted; ++r) {
    const std::uint32_t twice = op.d % 32 == 31 ? 0 : r;
    if (twice >= twins_.size()) break;
    Twin& twin = *twins_[(op.a + twice) % twins_.size()];
    Request request{&twin, static_cast<int>(op.b >> 4 * r & 7), twin.tokens, true, {}};
    const auto room = setup_.max_tokens - static_cast<int>(twin.tokens.size());
    if (op.d % 16 != 15) request.new_tokens = std::min(request.new_tokens, room);
    for (int i = 0; i < request.new_tokens; ++i)
      request.tokens.push_back(static_cast<std::int32_t>(op.c >> (i + 5 * r) & 1));
    request.told = (op.d >> (5 + r) & 1) == 0;
    requests.push_back(std::move(request));
  }
  return requests;
}

bool CacheModel::is_well_formed(const std::vector<Request>& requests) const {
  if (std::ssize(requests) > setup_.max_requests) return false;
  std::vector<const Twin*> seen;
  for (const Request& request : requests) {
    if (std::ranges::count(seen, request.twin) > 0) return false;
    seen.push_back(request.twin);
    if (std::ssize(request.tokens) > setup_.max_tokens) return false;
  }
  return true;
}

/// By group: pages for new tokens, and for copies of those that are not one sequence's alone.
std::vector<int> CacheModel::pages_needed(const std::vector<Request>& requests) const {
  std::vector<int> needed(groups());
  for (std::size_t group = 0; group < groups(); ++group) {
    const std::vector<int> held = holders(static_cast<int>(group));
    for (const Request& request : requests) {
      if (request.new_tokens == 0) continue;
      const std::size_t length = request.twin->tokens.size();
      needed[group] += pages_of(request.tokens.size()) - pages_of(length);
      if (length % static_cast<std::size_t>(setup_.page_size) == 0) continue;
      const std::int32_t last = request.twin->tables[group].back();
      if (held[static_cast<std::size_t>(last)] > 1 || is_cached(static_cast<int>(group), last))
        ++needed[group];
    }
  }
  return needed;
}

/// Whether pages are free, or held by the prefix cache alone.
bool CacheModel::has_room(const std::vector<int>& needed) const {
  for (std::size_t group = 0; group < groups(); ++group) {
    const std::vector<int> held = holders(static_cast<int>(group));
    if (needed[group] > std::ranges::count(held, 0)) return false;
  }
  return true;
}

void CacheModel::begin(const CacheOp& op) {
  if (step_ && op.d % 4 != 0) return end_step({.kind = CacheOp::Kind::commit});
  std::vector<Request> requests = requests_of(op);
  std::vector<KvRequest> wanted;
  for (const Request& request : requests)
    wanted.push_back({request.twin->id, request.new_tokens,
                      request.told ? std::span<const std::int32_t>(request.tokens)
                                   : std::span<const std::int32_t>{}});
  if (op.d % 64 == 62 && !requests.empty() && requests.front().told &&
      requests.front().tokens.size() > 1) {
    wanted.front().tokens = wanted.front().tokens.subspan(1);
    return expect_error({ErrorCode::invalid_input}, [&] { cache_.begin(wanted); });
  }
  if (step_ || !is_well_formed(requests))
    return expect_error({ErrorCode::invalid_input}, [&] { cache_.begin(wanted); });
  const std::vector<int> needed = pages_needed(requests);
  bool had_free = true;
  for (std::size_t group = 0; group < groups(); ++group)
    had_free &= needed[group] <= free_pages(static_cast<int>(group));
  if (has_room(needed)) {
    step_ = cache_.begin(wanted);
    began(std::move(requests), had_free);
    if (op.d >> 9 & 1) write_new_tokens();
    return;
  }
  std::string text;
  for (std::size_t group = groups(); group-- > 0;) {
    const auto held = std::ranges::count(holders(static_cast<int>(group)), 0);
    const std::int64_t free = free_pages(static_cast<int>(group));
    if (needed[group] > held)
      text = concat(needed[group], " needed, ", free, " free, ", held - free, " cached of ",
                    setup_.groups[group].pages);
  }
  expect_error(
      {ErrorCode::not_possible}, [&] { cache_.begin(wanted); }, text);
}

void CacheModel::began(std::vector<Request> requests, bool had_free) {
  requests_ = std::move(requests);
  may_evict_ = !had_free;
  for (Request& request : requests_) {
    request.before = request.twin->tables;
    request.twin->in_step = true;
    request.twin->tables = tables_of(request.twin->id);
  }
  for (const Request& request : requests_) note_copies(request);
}

/// Which entries may change: the last one, where tokens go to a page of others. It must where they
/// have it still.
void CacheModel::note_copies(const Request& request) {
  const std::size_t length = request.twin->tokens.size();
  const bool is_begun = length % static_cast<std::size_t>(setup_.page_size) != 0;
  for (std::size_t group = 0; group < groups(); ++group) {
    const Tokens& before = request.before[group];
    const Tokens& now = request.twin->tables[group];
    if (std::ssize(now) != pages_of(request.tokens.size()))
      throw Difference(concat("a step's table has ", now.size(), " entries"));
    for (std::size_t entry = 0; entry < before.size(); ++entry) {
      if (before[entry] == now[entry]) continue;
      if (request.new_tokens == 0 || !is_begun || entry + 1 < before.size())
        throw Difference(concat("page ", entry, " was copied"));
      originals_.emplace_back(static_cast<int>(group), before[entry]);
      ++counters_.copies_on_write;
    }
  }
  if (request.new_tokens == 0) return;
  for (std::size_t group = 0; group < groups(); ++group) {
    const std::vector<int> held = holders(static_cast<int>(group));
    const Tokens& now = request.twin->tables[group];
    for (std::size_t entry = length / std::size_t(setup_.page_size); entry < now.size(); ++entry)
      if (held[std::size_t(now[entry])] > 1 || is_cached(static_cast<int>(group), now[entry]))
        throw Difference(concat("page ", now[entry], " is written to, and others hold it"));
  }
}

void CacheModel::write_new_tokens() {
  for (const Request& request : requests_) {
    const auto hashes = prefix_hashes(request.tokens, request.twin->key);
    for (std::size_t group = 0; group < groups(); ++group)
      content_.write_all(static_cast<int>(group), request.twin->tables[group], request.tokens,
                         hashes, request.twin->tokens.size());
  }
}

void CacheModel::end_step(const CacheOp& op) {
  if (!step_) return begin(op);
  if (op.kind == CacheOp::Kind::rollback || op.kind == CacheOp::Kind::drop_step) {
    if (op.kind == CacheOp::Kind::rollback) step_.rollback();
    step_ = KvStep();
    for (const Request& request : requests_) request.twin->tables = request.before;
    return close();
  }
  write_new_tokens();
  may_evict_ = has_windows_;
  std::vector<std::int32_t> accepted;
  std::uint32_t bits = op.a;
  for (const Request& request : requests_) {
    const auto most = static_cast<std::uint32_t>(request.new_tokens);
    accepted.push_back(
        static_cast<std::int32_t>(op.kind == CacheOp::Kind::commit ? most : bits % (most + 1)));
    bits >>= 3;
  }
  if (op.kind == CacheOp::Kind::commit)
    step_.commit();
  else
    step_.commit(accepted);
  for (std::size_t r = 0; r < requests_.size(); ++r) committed(requests_[r], accepted[r]);
  close();
}

void CacheModel::committed(Request& request, int accepted) {
  Twin& twin = *request.twin;
  request.tokens.resize(twin.tokens.size() + static_cast<std::size_t>(accepted));
  twin.tokens = request.tokens;
  twin.hashes = prefix_hashes(twin.tokens, twin.key);
  const int length = static_cast<int>(twin.tokens.size());
  if (request.told && setup_.prefix_cache) {
    known_.add(twin.tokens, twin.key);
    note_filled(request);
  }
  for (std::size_t group = 0; group < groups(); ++group) {
    Tokens& table = twin.tables[group];
    table.resize(static_cast<std::size_t>(pages_of(twin.tokens.size())));
    const CacheSetup::Group& setup = setup_.groups[group];
    if (setup.window < 0) continue;
    const int passed = std::max(0, length - setup.window - setup.slack) / setup_.page_size;
    std::fill_n(table.begin(), std::min(passed, static_cast<int>(std::ssize(table))), -1);
  }
}

/// What is in pages that the prefix cache may hold from now on.
void CacheModel::note_filled(const Request& request) {
  const Twin& twin = *request.twin;
  const auto size = static_cast<std::size_t>(setup_.page_size);
  for (std::size_t group = 0; group < groups(); ++group)
    for (std::size_t entry = 0; (entry + 1) * size <= twin.tokens.size(); ++entry) {
      const std::int32_t page = twin.tables[group][entry];
      if (page == -1) continue;
      const auto first = std::int64_t(entry * size), last = std::int64_t((entry + 1) * size);
      Filled& filled = filled_[group][static_cast<std::size_t>(page)];
      filled.tokens.assign(twin.tokens.begin() + first, twin.tokens.begin() + last);
      filled.hashes.assign(twin.hashes.begin() + first, twin.hashes.begin() + last);
    }
}

void CacheModel::close() {
  for (const Request& request : requests_) request.twin->in_step = false;
  requests_.clear();
  originals_.clear();
}

}  // namespace headwise
