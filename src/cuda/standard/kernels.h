#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/standard/key_columns.h"
#include "headwise/dtype.h"

// The four kernels between and around the two products. Pointers are on the device, distances in
// elements. Launches throw Error(not_possible).

namespace headwise::cuda::standard {

/// Query rows of one request that are computed together, of all heads at most 2^30. Row r of a KV
/// head's matrices is the request's token `token + r / group` and query head `kv_head * group + r %
/// group`.
struct RowBlock {
  Lengths lengths;
  std::int64_t first_row = 0;  ///< the request's first new token among the step's
  std::int32_t token = 0;
  std::int32_t tokens = 0;
  std::int32_t group = 1;
  std::int32_t kv_heads = 1;

  __host__ __device__ std::int32_t rows() const { return tokens * group; }  ///< of a KV head
  __host__ __device__ std::int32_t token_of(std::int32_t row) const { return token + row / group; }
  __host__ __device__ std::int32_t head_of(std::int32_t kv_head, std::int32_t row) const {
    return kv_head * group + row % group;
  }
};

/// A view of q, out or LSE.
struct TokenHeads {
  std::int64_t token = 0;  ///< from token to token
  std::int64_t head = 0;   ///< from query head to query head

  __host__ __device__ std::int64_t offset(const RowBlock& block, std::int32_t kv_head,
                                          std::int32_t row) const {
    return (block.first_row + block.token_of(row)) * token + block.head_of(kv_head, row) * head;
  }
};

/// A view of K, V or their scales.
struct KeyStrides {
  std::int64_t page = 0;
  std::int64_t head = 0;
  std::int64_t token = 0;

  __host__ __device__ std::int64_t offset(const KeyPlace& place, std::int32_t kv_head) const {
    return place.page * page + kv_head * head + place.token * token;
  }
};

/// f8e4m3 scales; none: 1.
struct Fp8Scale {
  const float* values = nullptr;
  bool per_head = false;

  __host__ __device__ float of(std::int32_t kv_head) const {
    return values == nullptr ? 1.0F : values[per_head ? kv_head : 0];
  }
};

/// Rows that are copied into a dense matrix of another type, exactly.
struct RowCopy {
  const void* from = nullptr;
  DType from_type = DType::f32;
  std::int32_t dim = 0;
  bool aligned = false;  ///< rows begin at multiples of 8 elements and have whole ones
  void* to = nullptr;    ///< [kv_heads, rows, to_dim]
  DType to_type = DType::f32;
  std::int32_t to_dim = 0;  ///< a multiple of 8; zeros behind `dim`
  std::int32_t kv_heads = 1;
  std::int32_t rows = 0;  ///< of one KV head
};

/// The query rows of `block`; those that the device's lengths leave out are zeros.
struct QueryRows {
  RowBlock block;
  TokenHeads q;

  /// Offset of the row in q; -1: zeros.
  __host__ __device__ std::int64_t locate(std::int32_t kv_head, std::int32_t row) const {
    if (block.token_of(row) >= block.lengths.rows()) return -1;
    return q.offset(block, kv_head, row);
  }
};

/// The keys or values of a request; those that no row sees are zeros. Notes positions and scales on
/// the way.
struct KeyRows {
  KeyColumns columns;
  KeyStrides strides;
  std::int32_t* positions = nullptr;  ///< [kv_heads or 1, count], or null
  bool positions_per_head = false;
  const float* scales = nullptr;  ///< of tokens, or null
  KeyStrides scale_strides;
  float* to_scales = nullptr;  ///< [kv_heads, count]
  std::int64_t count = 0;      ///< columns

  __host__ __device__ std::int64_t locate(std::int32_t kv_head, std::int32_t column) const {
    const KeyPlace place = columns.place_of(kv_head, column);
    if (positions != nullptr && (positions_per_head || kv_head == 0))
      positions[(positions_per_head ? kv_head * count : 0) + column] = place.position;
    if (scales != nullptr)
      to_scales[kv_head * count + column] =
          place.seen ? scales[scale_strides.offset(place, kv_head)] : 0.0F;
    return place.seen ? strides.offset(place, kv_head) : -1;
  }
};

void copy_queries(const QueryRows& rows, const RowCopy& copy, cudaStream_t stream);
void copy_keys(const KeyRows& rows, const RowCopy& copy, cudaStream_t stream);

/// Stands in the weights for a row that sees no key.
inline constexpr float kSeesNoKey = -1.0F;

/// S in, P out. P is exp(logit - largest logit) times `p_factor` and the value's scale; what a row
/// does not see is 0 in P and not read from S.
struct Softmax {
  RowBlock block;
  Window window;
  const float* s = nullptr;  ///< [kv_heads, rows, columns]
  void* p = nullptr;         ///< the same; may be `s` where f32
  DType p_type = DType::f32;
  float p_factor = 1.0F;                    ///< a power of two
  std::int64_t columns = 0;                 ///< a multiple of 4
  std::int64_t first_slot = 0;              ///< of column 0
  const std::int32_t* positions = nullptr;  ///< of column 0; null: positions are slots
  std::int64_t positions_head = 0;          ///< from a KV head's to the next one's, or 0
  const float* k_scale = nullptr;           ///< of column 0, or null
  const float* v_scale = nullptr;           ///< the same
  std::int64_t scales_head = 0;             ///< from a KV head's to the next one's
  float scale = 1.0F;                       ///< from product to logit
  Fp8Scale q_fp8, k_fp8;                    ///< more of the same
  float softcap = 0.0F;                     ///< 0: none
  const float* sinks = nullptr;             ///< [q_heads], or null
  float* weights = nullptr;  ///< out: [kv_heads, rows] what P V is to be multiplied by
  float* lse = nullptr;      ///< out, or null
  TokenHeads lse_strides;
};

void softmax(const Softmax& args, cudaStream_t stream);

/// P V times weights, into out.
struct Store {
  RowBlock block;
  const float* o = nullptr;  ///< [kv_heads, rows, o_dim]
  std::int32_t o_dim = 0;
  const float* weights = nullptr;  ///< [kv_heads, rows]
  Fp8Scale v_fp8;
  void* out = nullptr;
  DType out_type = DType::f32;
  TokenHeads out_strides;
  std::int32_t dim = 0;
};

void store(const Store& args, cudaStream_t stream);

}  // namespace headwise::cuda::standard
