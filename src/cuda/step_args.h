#pragma once

#include <vector_types.h>

#include <cstdint>

#include "cuda/schedule/work_item.h"

namespace headwise::cuda {

enum class OutType : std::uint8_t { bf16, f16, f32 };

/// K or V of a layer. Strides in bytes.
struct KvTensor {
  const char* data = nullptr;
  std::int64_t page = 0;
  std::int64_t head = 0;
  std::int64_t token = 0;
  const float* scale = nullptr;  ///< i8: one a token and KV head; strides in elements
  std::int64_t scale_page = 0;
  std::int64_t scale_head = 0;
  std::int64_t scale_token = 0;
};

/// Rows of q, out or LSE: strides in elements.
struct RowStrides {
  std::int64_t token = 0;
  std::int64_t head = 0;
};

/// Everything a kernel needs of a step; device pointers.
struct StepArgs {
  const std::uint16_t* q = nullptr;  ///< [tokens, q_heads, dim_qk], bf16 or f16
  void* out = nullptr;               ///< [tokens, q_heads, dim_v]
  float* lse = nullptr;              ///< [tokens, q_heads] or null
  RowStrides q_strides, out_strides, lse_strides;
  KvTensor k, v;

  const std::int32_t* pages = nullptr;      ///< [requests, heads, columns]; null: packed
  const std::int32_t* positions = nullptr;  ///< as pages, or null
  std::int64_t table_request = 0;           ///< elements from one request's row to the next
  std::int64_t table_head = 0;              ///< elements from one head's row to the next, or 0
  Divider page_size;

  // The schedule, which update() rewrites.
  const WorkItem* items = nullptr;
  const Split* splits = nullptr;
  const SharedToken* shared_tokens = nullptr;
  const ScheduleCounts* counts = nullptr;
  std::uint32_t* next_item = nullptr;     ///< 0 before and after a launch
  std::uint32_t* blocks_done = nullptr;   ///< the same
  std::uint32_t* parts_done = nullptr;    ///< the same, [splits]; cuda-sm90: [part rows, 3]
  const std::int32_t* q_lens = nullptr;   ///< DeviceLengths
  const std::int32_t* kv_lens = nullptr;  ///< DeviceLengths
  const std::int32_t* q_start = nullptr;  ///< DeviceLengths

  float* part_sums = nullptr;    ///< [part rows, dim_v], not normalised
  float2* part_stats = nullptr;  ///< [part rows]: reference (base 2) and sum
  float4* set_aside = nullptr;   ///< batch_invariant: a block's sums over the keys before a cut

  const float* sinks = nullptr;    ///< [q_heads] or null
  const float* k_scale = nullptr;  ///< f8: [1] or [kv_heads]; null: 1
  const float* v_scale = nullptr;
  bool scale_per_head = false;

  float scale_log2 = 1.0F;   ///< of the logits, times log2(e); positive (q takes the sign)
  float softcap = 0.0F;      ///< times log2(e); 0: none
  std::uint32_t q_sign = 0;  ///< flips the signs of two numbers of q: 0x80008000, or 0
  std::int32_t window_left = -1;
  std::int32_t window_right = -1;
  Divider group;
  std::int32_t dim_qk = 0;
  std::int32_t dim_v = 0;
  bool q_is_f16 = false;
  bool q_pairs = false;     ///< q's rows start at multiples of 4 bytes
  bool q_chunks = false;    ///< they are whole 16-byte chunks, at multiples of 16 bytes; signs stay
  bool out_pairs = false;   ///< out's rows start at multiples of two elements
  bool out_chunks = false;  ///< they are 16-bit numbers at multiples of 16 bytes
  bool kv_chunks = false;   ///< K's and V's rows are whole 16-byte chunks, at multiples of 16 bytes
  OutType out_type = OutType::bf16;

  const std::int32_t* block_begin = nullptr;  ///< shares: each block's first item, and their end

  unsigned long long* repeated_rows = nullptr;  ///< only rises: Plan::repeated_rows()
};

}  // namespace headwise::cuda
