#pragma once

#include <cstdint>

namespace headwise {

/// Bytes of one group's pages: reserved = used + cached + free.
struct KvUsage {
  std::int64_t reserved = 0;  ///< the pool's
  std::int64_t used = 0;      ///< of pages that sequences hold
  std::int64_t shared = 0;    ///< of those that several sequences hold, counted once
  std::int64_t cached = 0;    ///< held by the prefix cache alone: given up when room is needed
  std::int64_t free = 0;
};

/// What a cache did since it was made.
struct KvCounters {
  std::int64_t lookups = 0;               ///< prompts that were looked up
  std::int64_t queried_tokens = 0;        ///< of those prompts
  std::int64_t hits = 0;                  ///< prompts of which something was there
  std::int64_t reused_tokens = 0;         ///< tokens that needed no computing
  std::int64_t partial_hits = 0;          ///< of them, those that reused a part of a page, too
  std::int64_t stored_pages = 0;          ///< pages of tokens that became known
  std::int64_t evictions = 0;             ///< pages of tokens that were forgotten
  std::int64_t evicted_window_pages = 0;  ///< pages of windowed groups given up while their tokens
                                          ///< stayed known
  std::int64_t copies_on_write = 0;       ///< pages that were copied because others hold them
};

}  // namespace headwise
