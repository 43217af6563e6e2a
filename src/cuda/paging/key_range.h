#pragma once

#include <cstdint>

namespace headwise::cuda {

/// The keys that an item reads. Slots seen by no row of the request, and dead ones, are zeros.
struct KeyRange {
  std::int64_t k_base = 0;     ///< bytes from K's first one to the KV head's
  std::int64_t v_base = 0;     ///< the same of V
  std::int64_t table_row = 0;  ///< paged: elements to the request's row of the block table
  std::int32_t slot_begin = 0;
  std::int32_t slot_end = 0;
  std::int32_t first_seen = 0;  ///< position
  std::int32_t last_seen = 0;
  std::int32_t kv_head = 0;
  std::int32_t reserved = 0;
  std::int64_t kv_start = 0;  ///< packed
};

}  // namespace headwise::cuda
