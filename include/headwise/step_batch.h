#pragma once

#include <cstdint>
#include <span>

#include "headwise/attention_shape.h"
#include "headwise/tensor_view.h"

namespace headwise {

/// How a step's K and V lie in memory.
enum class KvLayout : std::uint8_t {
  paged,   ///< K [pages, kv_heads, page_size, head_dim_qk], found through block tables
  packed,  ///< K [tokens, kv_heads, head_dim_qk], request r's keys from kv_start[r] on
};

/// Block tables of a step: entry k of a request's row is the page that holds its slots
/// k * page_size ... (k + 1) * page_size - 1. Rows may be longer than a request needs; entries past
/// ceil(kv_len / page_size), and those of pages that no row of the request sees, are never read.
struct BlockTables {
  std::int32_t page_size = 0;   ///< tokens a page, any number >= 1
  std::int64_t pool_pages = 0;  ///< pages in the pool; entries that are read lie in [0, pool_pages)
  std::int32_t columns = 0;     ///< entries a row
  std::int32_t heads = 1;       ///< rows a request: 1, or kv_heads for a table a KV head
  /// [requests, heads, columns]
  const std::int32_t* pages = nullptr;
  /// page_pos, laid out as `pages`: the position of a page's first slot, 0 ... 2^31 - 1 for all its
  /// slots; null: entry k stands at k * page_size
  const std::int32_t* positions = nullptr;
  /// Elements from one request's first row to the next one's; at least `columns` where there are
  /// several.
  std::int64_t request_stride = 0;
  /// Elements from one head's row to the next one's; at least `columns` where heads > 1.
  std::int64_t head_stride = 0;
  Device device{};  ///< where `pages` and `positions` lie
};

/// Lengths that kernels read instead of the host's, where a captured graph replays over changing
/// ones. The host's lengths are then upper bounds, used for planning. Rows that see all of a shared
/// prefix by the host's lengths, and are there by the device's, see all of it by these, too.
struct DeviceLengths {
  const std::int32_t* q_lens = nullptr;   ///< [requests]
  const std::int32_t* kv_lens = nullptr;  ///< [requests]
  const std::int32_t* q_start = nullptr;  ///< [requests], or null: kv_len - q_len
};

/// One engine step: prefills, appends and decodes mixed, packed request after request.
/// The views and tables are the caller's and must outlive the plan's runs of this step; the spans
/// are read while planning only.
struct StepBatch {
  TensorView q;  ///< [tokens, q_heads, head_dim_qk], of shape.q_type
  MutableTensorView
      out;  ///< [tokens, q_heads, head_dim_v], of shape.out_type(), or f32 (partial results)
  MutableTensorView lse;  ///< [tokens, q_heads], f32, natural log; absent: not wanted

  std::span<const std::int32_t>
      q_lens;  ///< [requests] new tokens, each >= 0; their sum is `tokens`
  std::span<const std::int32_t> kv_lens;  ///< [requests] keys, each >= 0
  std::span<const std::int32_t> q_start;  ///< [requests] position of the first new token; empty:
                                          ///< kv_len - q_len

  KvLayout layout = KvLayout::paged;
  BlockTables tables;                      ///< paged only
  std::span<const std::int64_t> kv_start;  ///< packed only: [requests] token index of the first key
  std::int64_t packed_tokens = 0;          ///< packed only: tokens in K and V

  // Shared prefixes, which a backend may read once for all requests that have them. Both empty:
  // none is known. What kernels compute does not depend on them, but for the order of sums.
  std::span<const std::int32_t>
      prefix_group;  ///< [requests] a number that requests with the same first keys share, or -1
  std::span<const std::int32_t>
      prefix_tokens;  ///< [requests] slots, from the first on, that lie in the same memory for all
                      ///< requests of the group, whatever the KV head; the group's least one counts

  DeviceLengths device_lengths;  ///< CUDA only

  /// Reserved for tree masks of speculative decoding (bits over the new tokens); must be null.
  const std::uint64_t* tree_mask = nullptr;

  std::int64_t requests() const { return static_cast<std::int64_t>(q_lens.size()); }
};

/// What a step consists of. Requests without new tokens do not count.
enum class Phase : std::uint8_t {
  prefill,  ///< no request has a cached prefix
  append,   ///< several new tokens behind a cached prefix, each
  decode,   ///< one new token each
  mixed,
};

const char* name_of(Phase phase);
Phase phase_of(const StepBatch& step);

/// Throws Error(invalid_input) that names the field and its value. Reads the block tables where
/// they lie on the CPU: every page number that a kernel would read is checked against the pool.
void validate(const AttentionShape& shape, const StepBatch& step);

}  // namespace headwise
