#include "kv/kv_cache_state.h"

#include <algorithm>
#include <limits>
#include <random>

#include "core/check.h"
#include "kv/kept_pages.h"

namespace headwise {
namespace {

constexpr std::int64_t kPathsAPage = 16;  // nodes beside each page, of a cache of windows alone

KvCacheOptions checked(KvCacheOptions options) {
  check(!options.groups.empty(), "a cache needs a layer group");
  check(options.page_size > 0, "page_size must be above 0, is ", options.page_size);
  check(options.max_sequences > 0, "max_sequences must be above 0, is ", options.max_sequences);
  check(options.max_tokens > 0, "max_tokens must be above 0, is ", options.max_tokens);
  check(options.max_requests >= 0, "max_requests is ", options.max_requests);
  check(options.min_partial_tokens > 0, "min_partial_tokens must be above 0, is ",
        options.min_partial_tokens);
  std::int64_t entries = pages_of(options.max_tokens, options.page_size);
  for (const std::int64_t factor :
       {std::int64_t{std::max(options.max_sequences, options.max_requests)},
        static_cast<std::int64_t>(options.groups.size()), std::int64_t{sizeof(std::int32_t)}})
    check(!__builtin_mul_overflow(entries, factor, &entries), "the block tables of ",
          options.max_sequences, " sequences are larger than memory can be");
  if (options.max_requests == 0) options.max_requests = options.max_sequences;
  if (options.memory == nullptr) options.memory = &cpu_memory();
  for (const KvGroupOptions& group : options.groups)
    check(group.window_slack >= 0, "window_slack is ", group.window_slack);
  return options;
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::vector<std::unique_ptr<PagePool>> pools_of(const KvCacheOptions& options) {
  std::vector<std::unique_ptr<PagePool>> pools;
  for (const KvGroupOptions& group : options.groups)
    pools.push_back(std::make_unique<PagePool>(
        PoolShape{.group = group.group, .page_size = options.page_size, .pages = group.pages},
        *options.memory));
  return pools;
}

std::vector<Fp8Scales> scales_of(const KvCacheOptions& options) {
  std::vector<Fp8Scales> scales;
  for (const KvGroupOptions& group : options.groups)
    scales.emplace_back(group.group, *options.memory);
  return scales;
}

std::vector<std::unique_ptr<KeyBounds>> bounds_of(const KvCacheOptions& options) {
  std::vector<std::unique_ptr<KeyBounds>> bounds;
  for (const KvGroupOptions& group : options.groups) {
    check(!group.key_bounds || options.memory->device().type == DeviceType::cpu,
          "key_bounds are kept on the CPU only, the cache is on ",
          to_string(options.memory->device()));
    bounds.push_back(group.key_bounds ? std::make_unique<KeyBounds>(group.group, group.pages)
                                      : nullptr);
  }
  return bounds;
}

std::int32_t columns_of(const KvCacheOptions& options) {
  return static_cast<std::int32_t>(pages_of(options.max_tokens, options.page_size));
}

/// A node holds a page of each group without a window. With windows alone the tokens of a long text
/// stay known as the way to its last pages: several times as many, and what sequences may have.
std::unique_ptr<PrefixCache> prefixes_of(const KvCacheOptions& options,
                                         std::span<const std::unique_ptr<PagePool>> pools) {
  if (!options.prefix_cache) return nullptr;
  std::int64_t nodes = 0;
  bool windows_alone = true;
  for (const KvGroupOptions& group : options.groups) {
    nodes = std::max(nodes, group.pages);
    windows_alone = windows_alone && group.group.shape.window_left >= 0;
  }
  if (windows_alone)
    nodes +=
        std::min(std::int64_t{options.max_sequences} * columns_of(options), kPathsAPage * nodes);
  const std::uint64_t seed = options.hash_seed != 0 ? options.hash_seed : random_seed();
  return std::make_unique<PrefixCache>(pools, nodes, options.min_partial_tokens, seed);
}

}  // namespace

KvCacheState::KvCacheState(const KvCacheOptions& wish)
    : options(checked(wish)),
      pools(pools_of(options)),
      scales(scales_of(options)),
      bounds(bounds_of(options)),
      sequences(options.max_sequences, columns_of(options), groups()),
      step_tables(options.max_requests, columns_of(options), groups(), *options.memory),
      prefixes(prefixes_of(options, pools)),
      step(options.max_requests, groups()),
      wanted(pools.size()),
      usage_(pools.size()) {
  for (int group = 0; group < groups(); ++group)
    if (window_left(group) >= 0) windowed.push_back(group);
  publish();
}

void KvCacheState::check_group(int group) const {
  check(group >= 0 && group < groups(), "group ", group, " of a cache of ", groups());
}

void KvCacheState::check_layer(int group, int layer) const {
  check_group(group);
  const int layers = pool(group).shape().group.layers;
  check(layer >= 0 && layer < layers, "layer ", layer, " of a group of ", layers);
}

void KvCacheState::make_room(std::span<const std::int64_t> needed) {
  for (int group = 0; group < groups(); ++group) {
    const PageRefs& refs = pool(group).refs();
    if (needed[static_cast<std::size_t>(group)] <= refs.free() + refs.cached()) continue;
    throw Error(
        ErrorCode::not_possible,
        concat("out of KV pages in group ", group, ": ", needed[static_cast<std::size_t>(group)],
               " needed, ", refs.free(), " free, ", refs.cached(), " cached of ", refs.size()));
  }
  for (int group = 0; group < groups(); ++group)
    if (prefixes && pool(group).refs().free() < needed[static_cast<std::size_t>(group)])
      prefixes->reclaim(group, needed[static_cast<std::size_t>(group)]);
}

void KvCacheState::copy_page(int group, std::int32_t to, std::int32_t from, void* stream) {
  pool(group).copy_page(to, from, stream);
  if (KeyBounds* kept = bounds[static_cast<std::size_t>(group)].get()) kept->copy_page(to, from);
}

void KvCacheState::release(int group, std::int32_t row, std::int32_t first, std::int32_t last) {
  const std::int32_t* table = sequences.table(group, row);
  for (std::int32_t entry = std::max(first, sequences.first_kept(group, row)); entry < last;
       ++entry)
    pool(group).refs().release(table[entry]);
}

void KvCacheState::publish() {
  const std::lock_guard lock(usage_mutex_);
  for (int group = 0; group < groups(); ++group) {
    const PageRefs& refs = pool(group).refs();
    const std::int64_t bytes = pool(group).page_bytes();
    usage_[static_cast<std::size_t>(group)] = {.reserved = refs.size() * bytes,
                                               .used = refs.used() * bytes,
                                               .shared = refs.shared() * bytes,
                                               .cached = refs.cached() * bytes,
                                               .free = refs.free() * bytes};
  }
}

KvUsage KvCacheState::usage(int group) const {
  check_group(group);
  const std::lock_guard lock(usage_mutex_);
  return usage_[static_cast<std::size_t>(group)];
}

}  // namespace headwise
