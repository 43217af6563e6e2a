#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headwise/kv_cache.h"
#include "tests/kv/attention_run.h"

namespace headwise {

/// What one KV head's queries of a request see: keys at their positions, in double precision.
struct ExactKeys {
  std::vector<std::int64_t> positions;
  std::vector<double> k;  ///< [keys, head_dim_qk]
  std::vector<double> v;  ///< [keys, head_dim_v]
};

/// Where a request's keys are stored.
struct StoredKeys {
  KvView kv;
  RunArgs scales;
  std::int32_t page_size = 0;
  const std::int32_t* table = nullptr;  ///< the whole sequence's
  std::int32_t kv_len = 0;
};

/// What is stored of a token, times `scale`, decoded by the formats' definitions.
std::vector<double> stored_row(const TensorView& view, std::int64_t page, int head,
                               std::int64_t slot, int dim, double scale);

/// The keys of the pages `entries` of a sequence's table.
ExactKeys load_keys(const AttentionShape& shape, const StoredKeys& stored,
                    std::span<const std::int32_t> entries, int kv_head);
/// Of all pages that are there.
ExactKeys load_keys(const AttentionShape& shape, const StoredKeys& stored, int kv_head);

struct ExactAnswer {
  std::vector<double> out;  ///< [q_len, q_heads, head_dim_v]
  std::vector<double> lse;  ///< [q_len, q_heads]
};

/// A request's attention by its definition; `q` is [q_len, q_heads, head_dim_qk], `keys` has an
/// entry a KV head.
ExactAnswer exact_attention(const AttentionShape& shape, std::span<const double> q, int q_len,
                            std::int64_t q_start, const std::vector<ExactKeys>& keys);

/// A tensor's numbers, if it is dense.
std::vector<double> decoded(const void* data, DType type, std::size_t count);

/// |got - exact| / |exact|.
double relative_error(std::span<const double> got, std::span<const double> exact);

/// What is wrong with the part of an answer that begins with row `token`, or nothing.
std::string fault_of(const AttentionShape& shape, const AttentionAnswer& answer, std::int64_t token,
                     const ExactAnswer& exact);

/// The looser of the bounds of q's and KV's types.
double pair_bound(const AttentionShape& shape);

}  // namespace headwise
