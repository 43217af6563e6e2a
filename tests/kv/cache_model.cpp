#include "tests/kv/cache_model.h"

#include <algorithm>
#include <ostream>

#include "core/check.h"

namespace headwise {
namespace {

constexpr std::size_t kPast = 6;  // ended sequences that are remembered

const char* name_of(CacheOp::Kind kind) {
  constexpr const char* kNames[] = {
      "create",   "create_with_prompt", "fork",     "begin", "commit",         "commit_some",
      "rollback", "drop_step",          "truncate", "free",  "clear_prefixes", "misuse"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Extras that differ in one thing each, most often none.
PrefixKey key_of(std::uint32_t number) {
  using Kind = PrefixExtra::Kind;
  const PrefixExtra adapter{Kind::adapter, "a"}, salt{Kind::salt, "a"}, other{Kind::salt, "b"};
  switch (number % 16) {
    case 8:
      return {adapter};
    case 9:
      return {salt};
    case 10:
      return {adapter, other};
    case 11:
      return {other, adapter};
    case 12:
      return {{Kind::image, "a", 2, 3}};
    case 13:
      return {{Kind::image, "a", 3, 3}};
    case 14:
      return {salt, {Kind::image, "b", 1, 1}, {Kind::image, "a", 6, 2}};
    case 15:
      return {{Kind::image, "b", 2, 3}};
    default:
      return {};
  }
}

}  // namespace

KvCacheOptions CacheSetup::options() const {
  KvCacheOptions options;
  for (const Group& group : groups)
    options.groups.push_back(small_group(group.pages, group.window, group.slack, group.layers));
  options.page_size = page_size;
  options.max_sequences = max_sequences;
  options.max_requests = max_requests;
  options.max_tokens = max_tokens;
  options.prefix_cache = prefix_cache;
  options.min_partial_tokens = min_partial;
  options.hash_seed = 1;
  return options;
}

std::ostream& operator<<(std::ostream& out, const CacheSetup& setup) {
  out << "page_size " << setup.page_size << ", sequences " << setup.max_sequences << ", requests "
      << setup.max_requests << ", tokens " << setup.max_tokens << ", min_partial "
      << setup.min_partial << ", prefix_cache " << setup.prefix_cache;
  for (const CacheSetup::Group& group : setup.groups)
    out << "; " << group.pages << " pages, window " << group.window << ", slack " << group.slack
        << ", layers " << group.layers;
  return out;
}

std::ostream& operator<<(std::ostream& out, const CacheOp& op) {
  return out << name_of(op.kind) << "(" << op.a << ", " << op.b << ", " << op.c << ", " << op.d
             << ")";
}

CacheModel::CacheModel(const CacheSetup& setup)
    : setup_(setup),
      cache_(setup.options()),
      content_(cache_),
      known_(setup.page_size, setup.min_partial) {
  for (const CacheSetup::Group& group : setup.groups) {
    filled_.emplace_back(static_cast<std::size_t>(group.pages));
    has_windows_ |= group.window >= 0;
  }
  check();
}

CacheModel::~CacheModel() = default;

void CacheModel::apply(const CacheOp& op) {
  may_evict_ = false;
  switch (op.kind) {
    case CacheOp::Kind::create:
      create(op);
      break;
    case CacheOp::Kind::create_with_prompt:
      create_with_prompt(op);
      break;
    case CacheOp::Kind::fork:
      fork(op);
      break;
    case CacheOp::Kind::begin:
      begin(op);
      break;
    case CacheOp::Kind::commit:
    case CacheOp::Kind::commit_some:
    case CacheOp::Kind::rollback:
    case CacheOp::Kind::drop_step:
      end_step(op);
      break;
    case CacheOp::Kind::truncate:
      truncate(op);
      break;
    case CacheOp::Kind::free:
      free(op);
      break;
    case CacheOp::Kind::clear_prefixes:
      clear_prefixes();
      break;
    case CacheOp::Kind::misuse:
      misuse(op);
      break;
  }
  check();
}

void CacheModel::finish() {
  if (step_) end_step({.kind = CacheOp::Kind::rollback});
  while (!twins_.empty()) free({});
  clear_prefixes();
  check();
  for (int group = 0; group < cache_.groups(); ++group)
    if (cache_.usage(group).free != cache_.usage(group).reserved)
      throw Difference(concat("group ", group, " has lost pages"));
}

int CacheModel::pages_of(std::size_t tokens) const {
  return (static_cast<int>(tokens) + setup_.page_size - 1) / setup_.page_size;
}

CacheModel::Tables CacheModel::tables_of(SequenceId id) const {
  Tables tables;
  for (int group = 0; group < cache_.groups(); ++group) {
    const auto pages = cache_.pages(id, group);
    tables.emplace_back(pages.begin(), pages.end());
  }
  return tables;
}

CacheModel::Twin& CacheModel::pick(std::uint32_t number) { return *twins_[number % twins_.size()]; }

CacheModel::Twin& CacheModel::add(SequenceId id, Tokens tokens, PrefixKey key) {
  auto hashes = prefix_hashes(tokens, key);
  twins_.push_back(std::make_unique<Twin>(
      Twin{id, std::move(tokens), std::move(key), std::move(hashes), tables_of(id)}));
  return *twins_.back();
}

void CacheModel::remember(const Twin& twin) {
  if (past_.size() == kPast) past_.erase(past_.begin());
  past_.push_back(twin);
  if (ended_.size() == kPast) ended_.erase(ended_.begin());
  ended_.push_back(twin.id);
}

void CacheModel::create(const CacheOp& op) {
  PrefixKey key = key_of(op.a);
  if (std::ssize(twins_) == setup_.max_sequences)
    return expect_error({ErrorCode::not_possible}, [&] { cache_.create(key); });
  const SequenceId id = cache_.create(key);
  add(id, {}, std::move(key));
}

/// The prompt goes on from what a sequence has, or had, most often with its extras.
void CacheModel::create_with_prompt(const CacheOp& op) {
  const std::size_t choices = twins_.size() + past_.size();
  Tokens prompt;
  PrefixKey key = key_of(op.d >> 8);
  if (choices > 0) {
    const std::size_t choice = op.a % choices;
    const Twin& base = choice < twins_.size() ? *twins_[choice] : past_[choice - twins_.size()];
    const auto kept = static_cast<std::size_t>(op.b % 2 == 0 ? base.tokens.size() : op.b / 2) %
                      (base.tokens.size() + 1);
    prompt.assign(base.tokens.begin(), base.tokens.begin() + std::int64_t(kept));
    if (op.d % 8 != 7) key = base.key;
  }
  for (std::uint32_t i = 0; i < op.c % 8; ++i) prompt.push_back(op.d >> (3 + i) & 1);
  if (std::ssize(twins_) == setup_.max_sequences)
    return expect_error({ErrorCode::not_possible}, [&] { cache_.create(prompt, key); });
  take_hit(cache_.create(prompt, key), prompt, key);
}

void CacheModel::take_hit(const PrefixHit& hit, const Tokens& prompt, const PrefixKey& key) {
  const std::int64_t most = setup_.prefix_cache ? known_.longest(prompt, key) : 0;
  const int reused = hit.reused_tokens;
  const bool is_exact = all_known_is_there_ && !has_windows_;
  const int part = reused % setup_.page_size;
  if (reused < 0 || reused > most || (is_exact && reused != most) ||
      (part != 0 && part < setup_.min_partial))
    throw Difference(concat(reused, " tokens reused; of the prompt ", most, " are known"));
  const Twin& twin =
      add(hit.sequence, Tokens(prompt.begin(), prompt.begin() + hit.reused_tokens), key);
  for (std::size_t group = 0; group < groups(); ++group) {
    const int window = setup_.groups[group].window;
    const int passed = window < 0 ? 0 : std::max(0, reused - window) / setup_.page_size;
    for (int entry = 0; entry < std::ssize(twin.tables[group]); ++entry)
      if ((twin.tables[group][std::size_t(entry)] == -1) != (entry < passed))
        throw Difference(concat("group ", group, " of a hit of ", reused, " tokens, page ", entry));
  }
  if (!setup_.prefix_cache) return;
  ++counters_.lookups;
  counters_.queried_tokens += std::ssize(prompt);
  counters_.reused_tokens += reused;
  counters_.hits += reused > 0 ? 1 : 0;
  counters_.partial_hits += part > 0 ? 1 : 0;
}

void CacheModel::fork(const CacheOp& op) {
  if (twins_.empty()) return create(op);
  const Twin& twin = pick(op.a);
  const bool is_full = std::ssize(twins_) == setup_.max_sequences;
  if (twin.in_step && is_full)
    return expect_error({ErrorCode::invalid_input, ErrorCode::not_possible},
                        [&] { cache_.fork(twin.id); });
  if (twin.in_step || is_full)
    return expect_error({is_full ? ErrorCode::not_possible : ErrorCode::invalid_input},
                        [&] { cache_.fork(twin.id); });
  const SequenceId id = cache_.fork(twin.id);
  const Twin& copy = add(id, twin.tokens, twin.key);
  if (copy.tables != twin.tables) throw Difference("a fork has other pages");
}

/// Whether all pages that the next token needs are there.
bool CacheModel::can_cut(const Twin& twin, int length) const {
  const int entries = pages_of(static_cast<std::size_t>(length));
  for (std::size_t group = 0; group < groups(); ++group) {
    const int window = setup_.groups[group].window;
    const int first = window < 0 ? 0 : std::max(0, length - window) / setup_.page_size;
    for (int entry = first; entry < entries; ++entry)
      if (twin.tables[group][static_cast<std::size_t>(entry)] == -1) return false;
  }
  return true;
}

void CacheModel::truncate(const CacheOp& op) {
  if (twins_.empty()) return create(op);
  Twin& twin = pick(op.a);
  const int old = static_cast<int>(twin.tokens.size());
  const int length = old + 1 - static_cast<int>(op.b % static_cast<std::uint32_t>(old + 3));
  if (twin.in_step || length < 0 || length > old || !can_cut(twin, length))
    return expect_error({ErrorCode::invalid_input}, [&] { cache_.truncate(twin.id, length); });
  cache_.truncate(twin.id, length);
  twin.tokens.resize(static_cast<std::size_t>(length));
  twin.hashes.resize(twin.tokens.size());
  for (Tokens& table : twin.tables)
    table.resize(static_cast<std::size_t>(pages_of(twin.tokens.size())));
}

void CacheModel::free(const CacheOp& op) {
  if (twins_.empty()) return create(op);
  const std::size_t place = op.a % twins_.size();
  const Twin& twin = *twins_[place];
  if (twin.in_step) return expect_error({ErrorCode::invalid_input}, [&] { cache_.free(twin.id); });
  cache_.free(twin.id);
  remember(twin);
  twins_.erase(twins_.begin() + std::int64_t(place));
}

void CacheModel::clear_prefixes() {
  cache_.clear_prefixes();
  known_.clear();
  may_evict_ = true;
  check();
  // What a living sequence made known before, it need not make known once more.
  all_known_is_there_ = twins_.empty();
  for (int group = 0; group < cache_.groups(); ++group)
    if (cache_.usage(group).cached != 0) throw Difference("a page is cached still");
}

void CacheModel::misuse(const CacheOp& op) {
  const std::int32_t token = 0;
  const SequenceId nobody = ended_.empty() || op.b % 4 == 0 ? SequenceId{} : ended_.back();
  const KvRequest request{nobody, 0};
  const std::vector<KvRequest> too_many(static_cast<std::size_t>(setup_.max_requests) + 1);
  std::vector<std::int32_t> accepted(requests_.size() + op.b % 2, -1);
  const std::function<void()> calls[] = {
      [&] { cache_.free(nobody); },
      [&] { cache_.fork(nobody); },
      [&] { cache_.truncate(nobody, 0); },
      [&] {
        cache_.begin({&request, 1});
      },
      [&] { cache_.begin(too_many); },
      [&] { (void)cache_.length(nobody); },
      [&] { (void)cache_.pages(nobody, 0); },
      [&] {
        cache_.create({&token, 1}, {{PrefixExtra::Kind::image, "a", -1, 1}});
      },
      [&] {
        cache_.create({{PrefixExtra::Kind::salt, ""}});
      },
      [&] { (void)cache_.usage(cache_.groups()); },
      // Of no request, all are accepted.
      [&] { accepted.empty() ? cache_.free(nobody) : step_.commit(accepted); },
  };
  expect_error({ErrorCode::invalid_input}, calls[op.a % std::size(calls)]);
}

}  // namespace headwise
