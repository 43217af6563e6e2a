#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "headwise/dtype.h"

namespace headwise::cuda {

/// K or V: new rows and the layer's cache. Strides in elements; 0 where a dimension's length is 1.
struct AppendTensor {
  const void* rows = nullptr;  ///< [tokens, kv_heads, dim]
  std::int64_t row_token = 0;
  std::int64_t row_head = 0;
  void* cache = nullptr;
  std::int64_t page = 0;  ///< packed: 0
  std::int64_t head = 0;
  std::int64_t token = 0;
  float* token_scales = nullptr;  ///< i8
  std::int64_t scale_page = 0;
  std::int64_t scale_head = 0;
  std::int64_t scale_token = 0;
  const float* fp8_scales = nullptr;  ///< [1] or [kv_heads]; null: 1
  std::int32_t dim = 0;
};

/// One request's new tokens as the host knows them; upper bounds where the device has lengths.
struct AppendRequest {
  std::int64_t first_row = 0;
  std::int64_t kv_start = 0;  ///< packed: token index of its first key
  std::int32_t request = 0;   ///< in the step
  std::int32_t q_len = 0;
  std::int32_t kv_len = 0;
  std::int32_t first_block = 0;  ///< of the launch's
};

/// Requests of one launch: its parameters have to stay below 4 KB, and travel with it, so that
/// nothing is copied beforehand.
inline constexpr int kAppendRequests = 96;

struct AppendLaunch {
  AppendTensor k;
  AppendTensor v;
  bool has_v = false;
  bool scale_per_head = false;  ///< of fp8_scales
  bool chunks = false;          ///< rows are whole pieces of 16 bytes of the cache, all aligned
  std::int32_t kv_heads = 0;
  std::int32_t block_tokens = 0;  ///< a block takes at a time
  std::int64_t tokens = 0;        ///< rows that there are

  const std::int32_t* pages = nullptr;  ///< [requests, heads, columns]; null: packed
  std::int64_t table_request = 0;
  std::int64_t table_head = 0;
  std::int64_t pool_pages = 0;
  std::uint32_t page_size = 1;

  const std::int32_t* q_lens = nullptr;      ///< on the device, or null
  const std::int32_t* kv_lens = nullptr;     ///< the same
  const std::int32_t* first_rows = nullptr;  ///< the same
  unsigned long long* saturated = nullptr;   ///< f8e4m3, or null

  std::int32_t blocks = 0;    ///< of all requests
  std::int32_t requests = 0;  ///< entries below
  AppendRequest request[kAppendRequests];
};
static_assert(sizeof(AppendLaunch) <= 4096);

/// Rows of one KV head that a block takes at a time.
int append_rows_of_block(DType cache, bool chunks);

void launch_append(const AppendLaunch& launch, DType rows, DType cache, cudaStream_t stream);

}  // namespace headwise::cuda
