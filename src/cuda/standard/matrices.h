#pragma once

#include <cstdint>
#include <vector>

#include "headwise/backend.h"

// What the host decides: the products' types, where matrices lie, and which rows are computed
// together.

namespace headwise::cuda::standard {

/// Types of the operands of Q K^T and P V; both products give f32.
struct ProductTypes {
  DType scores = DType::f32;
  DType values = DType::f32;

  friend bool operator==(const ProductTypes&, const ProductTypes&) = default;
};

/// The narrowest types that hold q, K and V exactly, 8-bit codes without their scales. With a scale
/// a token, P takes V's scales: rounding that to BF16 would cost most of the bound where a row sees
/// few keys, and F16 lacks its range.
ProductTypes product_types(const AttentionShape& shape);

/// One request's matrices, batched over KV heads: the query heads of a group are rows of one
/// product, token after token. Rows are padded with zeros to 8 elements, columns of S to 64 keys.
struct Matrices {
  static constexpr std::int64_t kKeyBlock = 64;

  ProductTypes types;
  std::int64_t kv_heads = 1;
  std::int64_t group = 1;
  std::int64_t dim_qk = 0;  ///< padded
  std::int64_t dim_v = 0;   ///< padded
  bool v_in_k = false;      ///< V is read from K's copy
  bool token_scales = false;
  std::int64_t position_rows = 0;  ///< rows of key positions; 0: positions are slots

  explicit Matrices(const Problem& problem);

  std::int64_t v_stride() const { return v_in_k ? dim_qk : dim_v; }  ///< from key to key

  static std::int64_t padded_keys(std::int64_t keys) {
    return (keys + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  }
};

/// Where a request's keys lie, once for all its rows, and the rest behind them: bytes.
struct KeyBuffers {
  std::int64_t k = 0;          ///< [kv_heads, columns, dim_qk] types.scores
  std::int64_t v = 0;          ///< [kv_heads, columns, dim_v] types.values; K's where v_in_k
  std::int64_t k_scale = 0;    ///< [kv_heads, columns] f32, where token_scales
  std::int64_t v_scale = 0;    ///< the same
  std::int64_t positions = 0;  ///< [position_rows, columns] i32, -1 where no row sees the key
  std::int64_t end = 0;

  KeyBuffers(const Matrices& matrices, std::int64_t columns);
};

/// Where the matrices of some rows lie: bytes from the end of the keys on.
struct RowBuffers {
  std::int64_t q = 0;        ///< [kv_heads, rows, dim_qk] types.scores
  std::int64_t s = 0;        ///< [kv_heads, rows, columns] f32
  std::int64_t p = 0;        ///< [kv_heads, rows, columns] types.values; in S's place where f32
  std::int64_t o = 0;        ///< [kv_heads, rows, dim_v] f32
  std::int64_t weights = 0;  ///< [kv_heads, rows] f32
  std::int64_t end = 0;

  RowBuffers(const Matrices& matrices, std::int64_t tokens, std::int64_t columns);
};

/// The workspace: what the products need, keys, rows. Row buffers hold all rows of a request within
/// the capacity, or `budget` bytes where that is less, but always one token.
struct WorkspaceSizes {
  static constexpr std::int64_t kProducts = std::int64_t{32} << 20;
  static constexpr std::int64_t kAlignment = 256;  ///< of each matrix; the workspace has 64

  std::int64_t keys = 0;
  std::int64_t rows = 0;

  WorkspaceSizes(const Matrices& matrices, const Capacity& capacity, std::int64_t budget);
  std::int64_t bytes() const { return kAlignment + kProducts + keys + rows; }
};

/// Rows that are computed together, and the columns that they see.
struct Chunk {
  std::int64_t token = 0;  ///< first one, in its request
  std::int64_t tokens = 0;
  std::int64_t column = 0;   ///< first one, a multiple of 64
  std::int64_t columns = 0;  ///< padded to 64; 0: no row sees a key
};

/// A request's columns and chunks.
struct RequestChunks {
  std::int64_t first_slot = 0;  ///< column 0
  std::int64_t columns = 0;     ///< padded
  std::vector<Chunk> chunks;
};

/// One request as the host knows it.
struct RequestRows {
  std::int32_t q_len = 0;
  std::int32_t kv_len = 0;
  std::int64_t q_start = 0;
  bool slots_known =
      true;  ///< positions are slots and lengths exact: unseen columns can be cut off
};

/// Cuts a request into chunks whose RowBuffers fit into `row_bytes`. `shape` has the window.
RequestChunks chunks_of(const Matrices& matrices, const AttentionShape& shape,
                        const RequestRows& request, std::int64_t row_bytes);

}  // namespace headwise::cuda::standard
