#include "kv/prefix_tree.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/check.h"

namespace headwise {
namespace {

std::int64_t checked(std::int64_t nodes) {
  check(nodes > 0 && nodes <= std::numeric_limits<std::int32_t>::max() / 4, "a prefix tree of ",
        nodes, " nodes");
  return nodes;
}

}  // namespace

PrefixTree::PrefixTree(std::int64_t nodes, int page_size, const std::vector<bool>& windowed)
    : page_size_(page_size),
      windowed_(windowed),
      nodes_(static_cast<std::size_t>(checked(nodes))),
      tokens_(nodes_.size() * static_cast<std::size_t>(page_size)),
      pages_(nodes_.size() * windowed.size(), kNone),
      buckets_(std::bit_ceil(2 * nodes_.size()), kNone),
      leaves_(nodes) {
  for (const bool is_windowed : windowed) paged_.emplace_back(is_windowed ? nodes : 0);
  unused_.reserve(nodes_.size());
  for (std::int64_t node = nodes; node-- > 0;) unused_.push_back(static_cast<std::int32_t>(node));
}

std::span<const std::int32_t> PrefixTree::tokens(std::int32_t node) const {
  const auto size = static_cast<std::size_t>(page_size_);
  return {tokens_.data() + static_cast<std::size_t>(node) * size, size};
}

std::int32_t PrefixTree::find(std::int32_t parent, std::uint64_t hash,
                              std::span<const std::int32_t> wanted, std::string_view extras) const {
  std::int32_t node = buckets_[hash & (buckets_.size() - 1)];
  for (; node != kNone; node = at(node).next_in_bucket)
    if (at(node).hash == hash && at(node).parent == parent && at(node).extras == extras &&
        std::ranges::equal(tokens(node), wanted))
      return node;
  return kNone;
}

std::int32_t PrefixTree::insert(std::int32_t parent, std::uint64_t hash,
                                std::span<const std::int32_t> new_tokens, std::string extras) {
  const std::int32_t node = unused_.back();
  unused_.pop_back();
  Node& fresh = at(node);
  fresh.hash = hash;
  fresh.serial = ++time_;
  fresh.parent = parent;
  fresh.first_child = kNone;
  fresh.extras = std::move(extras);
  std::ranges::copy(new_tokens, tokens_.begin() + std::int64_t{node} * page_size_);
  if (parent != kNone && leaves_.contains(parent)) leaves_.erase(parent);
  link(node);
  use(node);
  return node;
}

void PrefixTree::link(std::int32_t node) {
  Node& fresh = at(node);
  std::int32_t& first = first_of(fresh.parent);
  fresh.previous = kNone;
  fresh.next = first;
  if (first != kNone) at(first).previous = node;
  first = node;
  fresh.next_in_bucket = bucket(fresh.hash);
  bucket(fresh.hash) = node;
}

void PrefixTree::unlink(std::int32_t node) {
  const Node& old = at(node);
  (old.previous == kNone ? first_of(old.parent) : at(old.previous).next) = old.next;
  if (old.next != kNone) at(old.next).previous = old.previous;
  std::int32_t* link = &bucket(old.hash);
  while (*link != node) link = &at(*link).next_in_bucket;
  *link = old.next_in_bucket;
}

void PrefixTree::remove(std::int32_t leaf) {
  for (int group = 0; group < static_cast<int>(windowed_.size()); ++group)
    set_page(leaf, group, kNone);
  unlink(leaf);
  leaves_.erase(leaf);
  const std::int32_t parent = at(leaf).parent;
  if (parent != kNone && at(parent).first_child == kNone) leaves_.use(parent, at(parent).last_use);
  at(leaf).serial = 0;
  at(leaf).extras = {};
  unused_.push_back(leaf);
}

void PrefixTree::set_page(std::int32_t node, int group, std::int32_t page) {
  pages_[place(node, group)] = page;
  if (!windowed(group)) return;
  LruHeap& heap = paged_[static_cast<std::size_t>(group)];
  if (page != kNone)
    heap.use(node, ++time_);
  else if (heap.contains(node))
    heap.erase(node);
}

void PrefixTree::use(std::int32_t node) {
  at(node).last_use = ++time_;
  if (at(node).first_child == kNone) leaves_.use(node, at(node).last_use);
}

void PrefixTree::use_page(std::int32_t node, int group) {
  if (!windowed(group) || page(node, group) == kNone) return;
  paged_[static_cast<std::size_t>(group)].use(node, ++time_);
}

}  // namespace headwise
