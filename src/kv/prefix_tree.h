#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/lru_heap.h"

namespace headwise {

/// Pages of tokens that are known, as a tree: a node is one page's tokens behind its parent's, and
/// the pages of each layer group that hold their K and V (-1: that group's is gone). Found by hash,
/// and only where tokens, extras and parent are equal. Holds numbers alone; who owns the pages is
/// PrefixCache's business. Allocates nothing after it was made, but for extras.
class PrefixTree {
 public:
  static constexpr std::int32_t kNone = -1;  ///< no node; the parent of a first page

  /// Room for `nodes` nodes of `page_size` tokens and a page in each group; the use of pages is
  /// noted in groups that are `windowed`.
  PrefixTree(std::int64_t nodes, int page_size, const std::vector<bool>& windowed);

  /// The child of `parent` that has these tokens and extras, or kNone. `hash` is theirs.
  std::int32_t find(std::int32_t parent, std::uint64_t hash, std::span<const std::int32_t> tokens,
                    std::string_view extras) const;

  bool has_room() const { return !unused_.empty(); }
  /// A new leaf without pages, used now. There is room, and no child of these tokens and extras.
  std::int32_t insert(std::int32_t parent, std::uint64_t hash, std::span<const std::int32_t> tokens,
                      std::string extras);
  /// Forgets a leaf; its parent may become one.
  void remove(std::int32_t leaf);

  std::uint64_t hash(std::int32_t node) const { return at(node).hash; }
  std::uint64_t serial(std::int32_t node) const { return at(node).serial; }  ///< never used again
  std::int32_t parent(std::int32_t node) const { return at(node).parent; }
  std::span<const std::int32_t> tokens(std::int32_t node) const;
  const std::string& extras(std::int32_t node) const { return at(node).extras; }

  /// Children of a node, or first pages (kNone), the newest first.
  std::int32_t first_child(std::int32_t node) const {
    return node == kNone ? first_root_ : at(node).first_child;
  }
  std::int32_t next_sibling(std::int32_t node) const { return at(node).next; }

  std::int32_t page(std::int32_t node, int group) const { return pages_[place(node, group)]; }
  /// Gives a node a page, used now, or takes it away (-1).
  void set_page(std::int32_t node, int group, std::int32_t page);

  /// A node is used, with those before it: a leaf's age counts from now on.
  void use(std::int32_t node);
  /// A node's page in a windowed group is used, if it is there.
  void use_page(std::int32_t node, int group);

  bool has_leaf() const { return !leaves_.empty(); }
  std::int32_t oldest_leaf() const { return leaves_.oldest(); }
  std::int64_t leaves() const { return leaves_.size(); }
  /// Nodes that have a page in a windowed group, by its last use.
  const LruHeap& paged(int group) const { return paged_[static_cast<std::size_t>(group)]; }

 private:
  struct Node {
    std::uint64_t hash = 0;
    std::uint64_t serial = 0;
    std::uint64_t last_use = 0;
    std::int32_t parent = kNone;
    std::int32_t first_child = kNone;
    std::int32_t previous = kNone, next = kNone;  // siblings
    std::int32_t next_in_bucket = kNone;
    std::string extras;
  };

  Node& at(std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }
  std::size_t place(std::int32_t node, int group) const {
    return static_cast<std::size_t>(node) * windowed_.size() + static_cast<std::size_t>(group);
  }
  bool windowed(int group) const { return windowed_[static_cast<std::size_t>(group)]; }
  std::int32_t& bucket(std::uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  std::int32_t& first_of(std::int32_t parent) {
    return parent == kNone ? first_root_ : at(parent).first_child;
  }
  void link(std::int32_t node);
  void unlink(std::int32_t node);

  int page_size_;
  std::vector<bool> windowed_;  // by group
  std::uint64_t time_ = 0;      // counts uses, and serials
  std::vector<Node> nodes_;
  std::vector<std::int32_t> tokens_;  // [nodes, page_size]
  std::vector<std::int32_t> pages_;   // [nodes, groups]
  std::vector<std::int32_t> unused_;
  std::vector<std::int32_t> buckets_;  // a power of two; each a chain of nodes
  std::int32_t first_root_ = kNone;
  LruHeap leaves_;
  std::vector<LruHeap> paged_;  // by group; of those without a window, nothing
};

}  // namespace headwise
