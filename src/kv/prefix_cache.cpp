#include "kv/prefix_cache.h"

#include <algorithm>
#include <new>

#include "kv/kept_pages.h"
#include "kv/page_extras.h"

namespace headwise {
namespace {

constexpr int kPartialCandidates = 32;  // children that are looked at for a part of a page
constexpr std::int32_t kNone = PrefixTree::kNone;

std::vector<bool> windowed(std::span<const std::unique_ptr<PagePool>> pools) {
  std::vector<bool> result;
  for (const auto& pool : pools) result.push_back(pool->shape().group.shape.window_left >= 0);
  return result;
}

}  // namespace

PrefixCache::PrefixCache(std::span<const std::unique_ptr<PagePool>> pools, std::int64_t nodes,
                         int min_partial, std::uint64_t seed)
    : pools_(pools),
      page_size_(pools.front()->shape().page_size),
      min_partial_(min_partial),
      hash_(seed),
      tree_(nodes, page_size_, windowed(pools)),
      present_since_(pools.size()) {
  path_.reserve(static_cast<std::size_t>(nodes));
}

PrefixCache::~PrefixCache() { clear(); }

void PrefixCache::clear() {
  while (tree_.has_leaf()) evict(tree_.oldest_leaf());
}

PrefixMatch PrefixCache::find(std::span<const std::int32_t> tokens, const PrefixKey& key) {
  const auto asked =
      tokens.first(tokens.empty() ? 0 : tokens.size() - 1);  // one is left to compute
  const std::int64_t served = walk(asked, key);
  // A part of a page may go on behind the last one or, where a window lacks pages, behind others.
  for (auto depth = static_cast<std::int64_t>(path_.size()); depth >= served; --depth)
    if (const PrefixMatch match = with_part(asked, depth, key); match.partial != kNone)
      return match;
  return {.nodes = std::span(path_).first(static_cast<std::size_t>(served)),
          .tokens = served * page_size_};
}

/// Follows a prompt's full pages into the tree, as path_. Returns how many of them serve a sequence
/// that holds no more: in each windowed group what its next token sees is there.
std::int64_t PrefixCache::walk(std::span<const std::int32_t> tokens, const PrefixKey& key) {
  const auto size = static_cast<std::size_t>(page_size_);
  std::int64_t served = 0;
  path_.clear();
  std::ranges::fill(present_since_, 0);
  std::int32_t node = kNone;
  std::uint64_t hash = hash_.root();
  for (std::int64_t page = 0; (page + 1) * page_size_ <= std::ssize(tokens); ++page) {
    const auto of_page = tokens.subspan(static_cast<std::size_t>(page) * size, size);
    const std::string extras = extras_of_page(key, static_cast<std::int32_t>(page), page_size_);
    hash = hash_.chain(hash, of_page, extras);
    node = tree_.find(node, hash, of_page, extras);
    if (node == kNone) break;
    path_.push_back(node);
    bool is_served = true;
    for (int group = 0; group < groups(); ++group) {
      std::int64_t& present_since = present_since_[static_cast<std::size_t>(group)];
      if (tree_.page(node, group) == kNone) present_since = page + 1;
      const std::int64_t first =
          first_kept_page(window_of(group), (page + 1) * page_size_, page_size_);
      is_served = is_served && present_since <= std::min(first, page + 1);
    }
    if (is_served) served = page + 1;
  }
  return served;
}

/// The first `depth` pages of the path, and a part of a page behind them that serves the prompt.
PrefixMatch PrefixCache::with_part(std::span<const std::int32_t> tokens, std::int64_t depth,
                                   const PrefixKey& key) const {
  const auto full = static_cast<std::size_t>(depth);
  const auto rest = tokens.subspan(full * static_cast<std::size_t>(page_size_));
  const auto part = rest.first(std::min(rest.size(), static_cast<std::size_t>(page_size_ - 1)));
  PrefixMatch match{.nodes = std::span(path_).first(full)};
  match.partial = find_partial(part, full > 0 ? path_[full - 1] : kNone,
                               extras_of_page(key, static_cast<std::int32_t>(depth), page_size_),
                               match.partial_tokens);
  match.tokens = depth * page_size_ + match.partial_tokens;
  for (int group = 0; group < groups(); ++group)
    for (std::int64_t page = first_kept_page(window_of(group), match.tokens, page_size_);
         page < depth; ++page)
      if (tree_.page(path_[static_cast<std::size_t>(page)], group) == kNone) return {};
  return match;
}

/// The child of `parent` that shares most first tokens with `rest`, at least min_partial_, and
/// whose pages are all there. Of many children the newest are looked at.
std::int32_t PrefixCache::find_partial(std::span<const std::int32_t> rest, std::int32_t parent,
                                       std::string_view extras, std::int32_t& tokens) const {
  std::int32_t best = kNone;
  tokens = min_partial_ - 1;
  int candidates = kPartialCandidates;
  for (std::int32_t child = tree_.first_child(parent); child != kNone && candidates-- > 0;
       child = tree_.next_sibling(child)) {
    if (tree_.extras(child) != extras) continue;
    const auto known = tree_.tokens(child);
    const auto common =
        static_cast<std::int32_t>(std::ranges::mismatch(known, rest).in1 - known.begin());
    bool complete = common > tokens;
    for (int group = 0; complete && group < groups(); ++group)
      complete = tree_.page(child, group) != kNone;
    if (!complete) continue;
    best = child;
    tokens = common;
  }
  if (best == kNone) tokens = 0;
  return best;
}

void PrefixCache::use(const PrefixMatch& match, std::int64_t prompt_tokens) {
  ++counters_.lookups;
  counters_.queried_tokens += prompt_tokens;
  counters_.reused_tokens += match.tokens;
  if (match.tokens > 0) ++counters_.hits;
  if (match.partial != kNone) ++counters_.partial_hits;
  const auto full_pages = static_cast<std::int64_t>(match.nodes.size());
  for (const std::int32_t node : match.nodes) tree_.use(node);
  for (int group = 0; group < groups(); ++group) {
    std::int64_t page = first_kept_page(window_of(group), match.tokens, page_size_);
    for (; page < full_pages; ++page)
      tree_.use_page(match.nodes[static_cast<std::size_t>(page)], group);
  }
  if (match.partial == kNone) return;
  tree_.use(match.partial);
  for (int group = 0; group < groups(); ++group) tree_.use_page(match.partial, group);
}

PrefixCursor PrefixCache::cursor_at(const PrefixMatch& match) const {
  if (match.nodes.empty()) return {};
  const std::int32_t node = match.nodes.back();
  return {node, static_cast<std::int32_t>(match.nodes.size()), tree_.serial(node)};
}

bool PrefixCache::is_current(const PrefixCursor& cursor) const {
  return cursor.node == kNone || tree_.serial(cursor.node) == cursor.serial;
}

void PrefixCache::cut(PrefixCursor& cursor, std::int32_t pages) const {
  if (!is_current(cursor)) cursor = {};
  while (cursor.pages > pages) {
    cursor.node = tree_.parent(cursor.node);
    --cursor.pages;
  }
  cursor.serial = cursor.node == kNone ? 0 : tree_.serial(cursor.node);
}

void PrefixCache::store(PrefixCursor& cursor, std::span<const std::int32_t> tokens,
                        std::int32_t pages, const PrefixKey& key,
                        std::span<const std::int32_t* const> tables) noexcept try {
  if (!is_current(cursor)) cursor = {};
  if (cursor.node != kNone) tree_.use(cursor.node);
  const auto size = static_cast<std::size_t>(page_size_);
  while (cursor.pages < pages) {
    const auto of_page = tokens.subspan(static_cast<std::size_t>(cursor.pages) * size, size);
    const std::int32_t node = find_or_insert(cursor.node, cursor.pages, of_page,
                                             extras_of_page(key, cursor.pages, page_size_), tables);
    if (node == kNone) return;
    for (int group = 0; group < groups(); ++group)
      take_page(node, group, tables[static_cast<std::size_t>(group)][cursor.pages]);
    cursor = {node, cursor.pages + 1, tree_.serial(node)};
  }
} catch (const std::bad_alloc&) {
  return;  // what is stored so far is whole
}

/// A page that the node lacks becomes the cache's, too, unless another node has it.
void PrefixCache::take_page(std::int32_t node, int group, std::int32_t page) {
  if (page == kNone || tree_.page(node, group) != kNone || pool(group).refs().is_cached(page))
    return;
  pool(group).refs().cache(page);
  tree_.set_page(node, group, page);
}

/// kNone where there is no room for a new node, or its pages are another one's.
std::int32_t PrefixCache::find_or_insert(std::int32_t parent, std::int32_t page,
                                         std::span<const std::int32_t> tokens, std::string extras,
                                         std::span<const std::int32_t* const> tables) {
  const std::uint64_t before = parent == kNone ? hash_.root() : tree_.hash(parent);
  const std::uint64_t hash = hash_.chain(before, tokens, extras);
  if (const std::int32_t node = tree_.find(parent, hash, tokens, extras); node != kNone) {
    tree_.use(node);
    return node;
  }
  for (int group = 0; group < groups(); ++group) {
    const std::int32_t held = tables[static_cast<std::size_t>(group)][page];
    const bool is_free_to_take = held != kNone && !pool(group).refs().is_cached(held);
    if (window_of(group) < 0 && !is_free_to_take) return kNone;
  }
  if (!tree_.has_room()) {
    if (tree_.oldest_leaf() == parent) return kNone;
    evict(tree_.oldest_leaf());
  }
  ++counters_.stored_pages;
  return tree_.insert(parent, hash, tokens, std::move(extras));
}

void PrefixCache::give_up_page(std::int32_t node, int group) {
  const std::int32_t page = tree_.page(node, group);
  if (page == kNone) return;
  tree_.set_page(node, group, kNone);
  pool(group).refs().uncache(page);
}

void PrefixCache::evict(std::int32_t leaf) {
  for (int group = 0; group < groups(); ++group) give_up_page(leaf, group);
  tree_.remove(leaf);
  ++counters_.evictions;
}

void PrefixCache::reclaim(int group, std::int64_t free) {
  if (window_of(group) < 0)
    reclaim_leaves(group, free);
  else
    reclaim_window(group, free);
}

void PrefixCache::reclaim_leaves(int group, std::int64_t free) {
  const PageRefs& refs = pool(group).refs();
  // A leaf in use is put off, once: forgetting it frees nothing. Those behind which cached pages
  // hide go when all others have.
  std::int64_t put_off = tree_.leaves();
  while (refs.free() < free && tree_.has_leaf()) {
    const std::int32_t leaf = tree_.oldest_leaf();
    if (put_off > 0 && refs.sequences(tree_.page(leaf, group)) > 0) {
      tree_.use(leaf);
      --put_off;
    } else {
      evict(leaf);
    }
  }
}

void PrefixCache::reclaim_window(int group, std::int64_t free) {
  const PageRefs& refs = pool(group).refs();
  const LruHeap& nodes = tree_.paged(group);
  for (std::int64_t left = nodes.size(); left > 0 && refs.free() < free; --left) {
    const std::int32_t node = nodes.oldest();
    if (refs.sequences(tree_.page(node, group)) > 0) {
      tree_.use_page(node, group);
    } else {
      give_up_page(node, group);
      ++counters_.evicted_window_pages;
    }
  }
}

}  // namespace headwise
