#include "kv/page_refs.h"

#include <limits>

#include "core/check.h"

namespace headwise {

PageRefs::PageRefs(std::int64_t pages) {
  check(pages > 0 && pages <= std::numeric_limits<std::int32_t>::max(),
        "pages must be 1 to 2147483647, is ", pages);
  pages_.resize(static_cast<std::size_t>(pages));
  free_.reserve(pages_.size());
  for (std::int64_t page = pages; page-- > 0;) free_.push_back(static_cast<std::int32_t>(page));
}

const PageRefs::Page& PageRefs::at(std::int32_t page) const {
  check(page >= 0 && page < size(), "page ", page, " is outside of the pool's ", size());
  return pages_[static_cast<std::size_t>(page)];
}

std::int32_t PageRefs::take() {
  if (free_.empty())
    throw Error(ErrorCode::not_possible, concat("out of KV pages: none free of ", size()));
  const std::int32_t page = free_.back();
  free_.pop_back();
  pages_[static_cast<std::size_t>(page)].sequences = 1;
  ++used_;
  return page;
}

void PageRefs::retain(std::int32_t page) {
  Page& held = at(page);
  check(held.sequences > 0 || held.cached, "page ", page, " is free");
  ++held.sequences;
  if (held.sequences == 1) ++used_;
  if (held.sequences == 2) ++shared_;
}

void PageRefs::release(std::int32_t page) {
  Page& held = at(page);
  check(held.sequences > 0, "page ", page, " is held by no sequence");
  --held.sequences;
  if (held.sequences == 1) --shared_;
  if (held.sequences > 0) return;
  --used_;
  free_if_unheld(page);
}

void PageRefs::cache(std::int32_t page) {
  Page& held = at(page);
  check(held.sequences > 0 && !held.cached, "page ", page, held.cached ? " is cached" : " is free");
  held.cached = true;
}

void PageRefs::uncache(std::int32_t page) {
  Page& held = at(page);
  check(held.cached, "page ", page, " is not cached");
  held.cached = false;
  free_if_unheld(page);
}

void PageRefs::free_if_unheld(std::int32_t page) {
  const Page& held = at(page);
  if (held.sequences == 0 && !held.cached) free_.push_back(page);
}

}  // namespace headwise
