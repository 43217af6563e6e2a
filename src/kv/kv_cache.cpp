#include "headwise/kv_cache.h"

#include <algorithm>

#include "core/check.h"
#include "kv/kept_pages.h"
#include "kv/kv_cache_state.h"

namespace headwise {
namespace {

std::shared_ptr<const PrefixKey> shared(PrefixKey key) {
  validate(key);
  return key.empty() ? nullptr : std::make_shared<const PrefixKey>(std::move(key));
}

/// Gives a new sequence the pages of a match, those that its windows reach.
void take_over(KvCacheState& state, SequenceId id, const PrefixMatch& match) {
  Sequence& sequence = state.sequences.row(id.row);
  const auto full = static_cast<std::int32_t>(match.nodes.size());
  sequence.entries = full + (match.partial == PrefixTree::kNone ? 0 : 1);
  sequence.length = static_cast<std::int32_t>(match.tokens);
  sequence.cursor = state.prefixes->cursor_at(match);
  for (int group = 0; group < state.groups(); ++group) {
    std::int32_t* table = state.sequences.table(group, id.row);
    const auto first = static_cast<std::int32_t>(std::min<std::int64_t>(
        first_kept_page(state.window_left(group), match.tokens, state.options.page_size),
        sequence.entries));
    std::fill(table, table + first, -1);
    for (std::int32_t entry = first; entry < sequence.entries; ++entry) {
      const std::int32_t node =
          entry < full ? match.nodes[static_cast<std::size_t>(entry)] : match.partial;
      table[entry] = state.prefixes->page(node, group);
      state.pool(group).refs().retain(table[entry]);
    }
    state.sequences.first_kept(group, id.row) = first;
  }
}

}  // namespace

KvCache::KvCache(const KvCacheOptions& options) : state_(std::make_unique<KvCacheState>(options)) {}
KvCache::~KvCache() = default;

SequenceId KvCache::create(PrefixKey key) {
  auto kept = shared(std::move(key));
  const SequenceId id = state_->sequences.add();
  state_->sequences.row(id.row).key = std::move(kept);
  return id;
}

PrefixHit KvCache::create(std::span<const std::int32_t> prompt, PrefixKey key) {
  if (!state_->prefixes) return {create(std::move(key)), 0};
  const PrefixMatch match = state_->prefixes->find(prompt, key);
  const SequenceId id = create(std::move(key));
  state_->prefixes->use(match, static_cast<std::int64_t>(prompt.size()));
  take_over(*state_, id, match);
  state_->publish();
  return {id, static_cast<std::int32_t>(match.tokens)};
}

SequenceId KvCache::fork(SequenceId id) {
  Sequence& source = state_->at_rest(id);
  const SequenceId copy = state_->sequences.add();
  source.owns_last_page = false;
  Sequence& sequence = state_->sequences.row(copy.row);
  sequence = source;
  sequence.serial = copy.serial;
  sequence.step_row = -1;
  for (int group = 0; group < groups(); ++group) {
    const std::int32_t* from = state_->sequences.table(group, id.row);
    std::int32_t* table = state_->sequences.table(group, copy.row);
    std::copy_n(from, source.entries, table);
    const std::int32_t first = state_->sequences.first_kept(group, id.row);
    state_->sequences.first_kept(group, copy.row) = first;
    PageRefs& refs = state_->pool(group).refs();
    for (std::int32_t entry = first; entry < source.entries; ++entry) refs.retain(table[entry]);
  }
  state_->publish();
  return copy;
}

void KvCache::truncate(SequenceId id, std::int32_t length) {
  Sequence& sequence = state_->at_rest(id);
  check(length >= 0 && length <= sequence.length, "a sequence of ", sequence.length,
        " tokens cannot be cut to ", length);
  const int page_size = state_->options.page_size;
  const auto entries = static_cast<std::int32_t>(pages_of(length, page_size));
  for (int group = 0; group < groups(); ++group) {
    const std::int64_t first = first_kept_page(state_->window_left(group), length, page_size);
    const std::int64_t kept = state_->sequences.first_kept(group, id.row);
    check(first >= entries || first >= kept, "group ", group, " of a sequence of ", length,
          " tokens needs those from ", first * page_size,
          " on; its window has passed those before ", kept * page_size);
  }
  for (int group = 0; group < groups(); ++group) {
    state_->release(group, id.row, entries, sequence.entries);
    state_->sequences.note_change(group, id.row, entries);
    std::int32_t& first_kept = state_->sequences.first_kept(group, id.row);
    first_kept = std::min(first_kept, entries);
  }
  sequence.entries = entries;
  sequence.length = length;
  sequence.owns_last_page = false;  // it may have been a full one
  if (state_->prefixes) state_->prefixes->cut(sequence.cursor, length / page_size);
  state_->publish();
}

void KvCache::free(SequenceId id) {
  const Sequence& sequence = state_->at_rest(id);
  for (int group = 0; group < groups(); ++group)
    state_->release(group, id.row, 0, sequence.entries);
  state_->sequences.remove(id);
  state_->publish();
}

std::int32_t KvCache::length(SequenceId id) const { return state_->sequences.at(id).length; }
int KvCache::sequences() const { return state_->sequences.count(); }

std::span<const std::int32_t> KvCache::pages(SequenceId id, int group) const {
  const Sequence& sequence = state_->sequences.at(id);
  state_->check_group(group);
  return {state_->sequences.table(group, id.row), static_cast<std::size_t>(sequence.entries)};
}

BlockTables KvCache::tables(SequenceId id, int group) const {
  check(state_->memory().device().type == DeviceType::cpu, "the cache is on ",
        to_string(state_->memory().device()), ", whose kernels read the tables of a step");
  const auto entries = pages(id, group);  // checks both
  return {.page_size = state_->options.page_size,
          .pool_pages = state_->pool(group).refs().size(),
          .columns = state_->sequences.columns(),
          .pages = entries.data(),
          .request_stride = state_->sequences.columns()};
}

KvStep KvCache::begin(std::span<const KvRequest> requests, void* stream) {
  state_->step.begin(*state_, requests, stream);
  return KvStep(*this);
}

const KvCacheOptions& KvCache::options() const { return state_->options; }
int KvCache::groups() const { return state_->groups(); }
KvView KvCache::layer(int group, int layer) const {
  state_->check_layer(group, layer);
  return state_->pool(group).layer(layer);
}
MutableKvView KvCache::mutable_layer(int group, int layer) {
  state_->check_layer(group, layer);
  return state_->pool(group).layer(layer);
}

void KvCache::set_scales(int group, int layer, std::span<const float> k, std::span<const float> v) {
  state_->check_layer(group, layer);
  const PagePool& pool = state_->pool(group);
  const DType type = pool.shape().group.shape.kv_type;
  check(type == DType::f8e4m3, "group ", group, " holds ", name_of(type),
        ", which takes no scales of a tensor");
  check(!has_scales(group, layer) || pool.refs().free() == pool.refs().size(),
        "the scales of group ", group, ", layer ", layer,
        " are frozen: ", pool.refs().size() - pool.refs().free(), " pages are held");
  state_->scales[static_cast<std::size_t>(group)].set(layer, k, v);
}

bool KvCache::has_scales(int group, int layer) const {
  state_->check_layer(group, layer);
  return state_->scales[static_cast<std::size_t>(group)].has(layer);
}

const float* KvCache::k_scale(int group, int layer) const {
  state_->check_layer(group, layer);
  return state_->scales[static_cast<std::size_t>(group)].k(layer);
}

const float* KvCache::v_scale(int group, int layer) const {
  state_->check_layer(group, layer);
  return state_->scales[static_cast<std::size_t>(group)].v(layer);
}

std::uint64_t KvCache::saturated(int group, void* stream) const {
  state_->check_group(group);
  return state_->scales[static_cast<std::size_t>(group)].count_saturated(stream);
}

KvUsage KvCache::usage(int group) const { return state_->usage(group); }

KvCounters KvCache::counters() const {
  KvCounters counters = state_->prefixes ? state_->prefixes->counters() : KvCounters{};
  counters.copies_on_write = state_->copies_on_write;
  return counters;
}

void KvCache::clear_prefixes() {
  if (!state_->prefixes) return;
  state_->prefixes->clear();
  state_->publish();
}

}  // namespace headwise
