#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/kv_usage.h"
#include "headwise/prefix_key.h"
#include "kv/page_pool.h"
#include "kv/prefix_hash.h"
#include "kv/prefix_tree.h"

namespace headwise {

/// How far a sequence's pages are in the tree: the node of the last one, if it is still there.
struct PrefixCursor {
  std::int32_t node = PrefixTree::kNone;
  std::int32_t pages = 0;
  std::uint64_t serial = 0;
};

/// What of a prompt is cached.
struct PrefixMatch {
  std::span<const std::int32_t> nodes;  ///< full pages, from the first on; until the next find()
  std::int32_t partial = PrefixTree::kNone;  ///< a node whose first tokens go on behind them
  std::int32_t partial_tokens = 0;
  std::int64_t tokens = 0;  ///< that need no computing, all together
};

/// Full pages of tokens and their K and V, kept after their sequences ended for those that begin
/// alike. Holds a reference to every page that its tree names. The pools must outlive it; not for
/// several threads at once.
class PrefixCache {
 public:
  /// Pools of one page size. Pages are matched in part from `min_partial` tokens on.
  PrefixCache(std::span<const std::unique_ptr<PagePool>> pools, std::int64_t nodes, int min_partial,
              std::uint64_t seed);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  /// The longest beginning of a prompt whose pages are there, in windowed groups those that the
  /// next token's window reaches; at least one token is left out. Changes nothing.
  PrefixMatch find(std::span<const std::int32_t> tokens, const PrefixKey& key);

  /// A prompt of so many tokens was looked up, and `match` is used now.
  void use(const PrefixMatch& match, std::int64_t prompt_tokens);

  /// Where a sequence that took a match over stands.
  PrefixCursor cursor_at(const PrefixMatch& match) const;

  /// Makes a sequence's first `pages` pages known. `tables` holds its block table of each group,
  /// -1 for pages that are gone. What there is no room or memory for is left out: it costs a hit.
  void store(PrefixCursor& cursor, std::span<const std::int32_t> tokens, std::int32_t pages,
             const PrefixKey& key, std::span<const std::int32_t* const> tables) noexcept;

  /// The cursor, where the sequence is cut to `pages` full pages.
  void cut(PrefixCursor& cursor, std::int32_t pages) const;

  /// Gives pages up until a group has `free` free ones; of a windowed group single pages, else
  /// leaves. What is in use goes last. They are there: free and cached ones together.
  void reclaim(int group, std::int64_t free);

  /// Forgets everything.
  void clear();

  const KvCounters& counters() const { return counters_; }
  /// The page of a matched node, -1 where its group has given it up.
  std::int32_t page(std::int32_t node, int group) const { return tree_.page(node, group); }

 private:
  int groups() const { return static_cast<int>(pools_.size()); }
  PagePool& pool(int group) const { return *pools_[static_cast<std::size_t>(group)]; }
  std::int64_t window_of(int group) const { return pool(group).shape().group.shape.window_left; }
  bool is_current(const PrefixCursor& cursor) const;
  std::int64_t walk(std::span<const std::int32_t> tokens, const PrefixKey& key);
  PrefixMatch with_part(std::span<const std::int32_t> tokens, std::int64_t depth,
                        const PrefixKey& key) const;
  std::int32_t find_partial(std::span<const std::int32_t> rest, std::int32_t parent,
                            std::string_view extras, std::int32_t& tokens) const;
  std::int32_t find_or_insert(std::int32_t parent, std::int32_t page,
                              std::span<const std::int32_t> tokens, std::string extras,
                              std::span<const std::int32_t* const> tables);
  void take_page(std::int32_t node, int group, std::int32_t page);
  void give_up_page(std::int32_t node, int group);
  void evict(std::int32_t leaf);
  void reclaim_leaves(int group, std::int64_t free);
  void reclaim_window(int group, std::int64_t free);

  std::span<const std::unique_ptr<PagePool>> pools_;
  int page_size_;
  int min_partial_;
  PrefixHash hash_;
  PrefixTree tree_;
  KvCounters counters_;

  // Of the walk under way.
  std::vector<std::int32_t> path_;           // nodes
  std::vector<std::int64_t> present_since_;  // by group: the first page of those without a gap
};

}  // namespace headwise
