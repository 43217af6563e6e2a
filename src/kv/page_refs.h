#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace headwise {

/// Who holds a pool's pages: how many sequences each, and whether the prefix cache does. A page
/// that nobody holds is free. Every call takes constant time and, but for the constructor,
/// allocates nothing. Throws Error(invalid_input) on a page outside of the pool, or one that is not
/// held as the call supposes; nothing has changed then.
class PageRefs {
 public:
  explicit PageRefs(std::int64_t pages);

  std::int64_t size() const { return static_cast<std::int64_t>(pages_.size()); }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t used() const { return used_; }      ///< pages that sequences hold
  std::int64_t shared() const { return shared_; }  ///< pages that several sequences hold
  /// Pages that the prefix cache alone holds: they can be had.
  std::int64_t cached() const { return size() - free() - used_; }

  std::int32_t sequences(std::int32_t page) const { return at(page).sequences; }
  bool is_cached(std::int32_t page) const { return at(page).cached; }
  /// Held by one sequence and nobody else: it may be written to.
  bool is_private(std::int32_t page) const {
    const Page& held = at(page);
    return held.sequences == 1 && !held.cached;
  }

  /// A free page, now of one sequence. Throws Error(not_possible) where there is none.
  std::int32_t take();
  /// For one more sequence. The page is not free.
  void retain(std::int32_t page);
  /// One sequence less.
  void release(std::int32_t page);
  /// For the prefix cache, which holds a page once. The page is not free.
  void cache(std::int32_t page);
  void uncache(std::int32_t page);

 private:
  struct Page {
    std::int32_t sequences = 0;
    bool cached = false;
  };

  const Page& at(std::int32_t page) const;
  Page& at(std::int32_t page) { return const_cast<Page&>(std::as_const(*this).at(page)); }
  void free_if_unheld(std::int32_t page);

  std::vector<Page> pages_;
  std::vector<std::int32_t> free_;  // the next one to be taken is the last
  std::int64_t used_ = 0;
  std::int64_t shared_ = 0;
};

}  // namespace headwise
