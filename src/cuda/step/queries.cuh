#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/math.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/tile/box_tile.cuh"
#include "cuda/tile/shared_tile.cuh"

namespace headwise::cuda {

/// Two numbers of q from element `at` on, zeros past the row's end.
__device__ __forceinline__ std::uint32_t load_pair(const StepArgs& args, const std::uint16_t* row,
                                                   int at) {
  std::uint32_t pair = 0;
  if (at + 1 < args.dim_qk && args.q_pairs)
    pair = *reinterpret_cast<const std::uint32_t*>(row + at);
  else if (at < args.dim_qk)
    pair = row[at] | (at + 1 < args.dim_qk ? static_cast<std::uint32_t>(row[at + 1]) << 16 : 0U);
  return pair ^ args.q_sign;
}

/// A power of two that brings the row's largest bf16 number below F16's limit with nothing that
/// matters lost at the small end; 1 where the row holds infinity or NaN.
__device__ __forceinline__ float f16_range_factor(std::uint32_t largest_magnitude) {
  const int exponent = static_cast<int>(largest_magnitude >> 7);
  if (exponent == 255) return 1.0F;
  return __uint_as_float(static_cast<std::uint32_t>(127 + 14 + 127 - max(exponent, 40)) << 23);
}

/// Where a pair of q lies in a block of sixteen: for 8-bit K a lane's four neighbouring numbers are
/// the two pairs of one product, so pairs 0, 2, 4, 6 come first.
template <class Config>
__device__ __forceinline__ int stored_pair(int pair) {
  if constexpr (!Config::k8Bit) return pair;
  const int inside = pair % 8;
  return pair - inside + (inside & 1) * 4 + inside / 2;
}

/// What products of q and K are multiplied by, in base 2.
__device__ __forceinline__ float logit_scale(const StepArgs& args, const ItemView& view) {
  if (args.k_scale == nullptr) return args.scale_log2;
  return args.scale_log2 * args.k_scale[args.scale_per_head ? view.item.kv_head : 0];
}

/// Elements from q's first one to a row of an item; negative: dead.
__device__ __forceinline__ std::int64_t offset_of_queries(const StepArgs& args,
                                                          const ItemView& view, int row) {
  if (row >= view.item.rows) return -8;
  return view.step_token_of(args, row) * args.q_strides.token +
         view.head_of(args, row) * args.q_strides.head;
}

/// Where q lies in shared memory.
template <class Config, int kRows>
using QueryTile =
    std::conditional_t<Config::kQueriesInBoxes, BoxTile<kRows>, SharedTile<Config::kQRow>>;

/// Starts copying an item's rows of q, dead rows as zeros. `table`: 8 * kRows bytes of shared
/// memory for where they lie, if more than a few; synchronises the block then.
template <class Config, int kRows>
__device__ __forceinline__ void copy_queries(const StepArgs& args, const ItemView& view,
                                             std::uint32_t shared, std::uint32_t table) {
  using Tile = QueryTile<Config, kRows>;
  constexpr int kChunks = Config::kQRow / 16;
  constexpr int kLanes = kChunks % 16 == 0 ? 16 : 8;
  constexpr bool kByTable = !Config::kQueriesInBoxes && kRows > 4 * Config::kThreads / kLanes;
  const Tile tile{shared};
  const int chunk = threadIdx.x % kLanes;
  if constexpr (kByTable) {
    if (threadIdx.x < kRows)
      ptx::store_shared_64(table + threadIdx.x * 8, offset_of_queries(args, view, threadIdx.x));
    __syncthreads();
  }
#pragma unroll 4
  for (int row = threadIdx.x / kLanes; row < kRows; row += Config::kThreads / kLanes) {
    const std::int64_t offset =
        kByTable ? ptx::load_shared_64(table + row * 8) : offset_of_queries(args, view, row);
#pragma unroll
    for (int j = 0; j < kChunks / kLanes; ++j) {
      const int at = (chunk + j * kLanes) * 8;
      ptx::cp_async_16(tile.chunk(row, chunk + j * kLanes), args.q + offset + at,
                       static_cast<int>(offset >> 32), at >= args.dim_qk);
    }
  }
}

/// Brings an item's rows of q to shared memory, dead rows as zeros: a warp takes every fourth row.
/// They are there after the first wait for copies and a barrier. `table`: see copy_queries().
/// `row_scale`: [kRows] floats in shared memory, logit_scale() for rows that were scaled, for 8-bit
/// K.
/// A call: inlined, it would cost the items' loops registers.
template <class Config, int kRows>
__device__ __noinline__ void load_queries(const StepArgs& args, const ItemView& view,
                                          std::uint32_t shared, std::uint32_t row_scale,
                                          std::uint32_t table) {
  if (!Config::k8Bit && args.q_chunks)
    return copy_queries<Config, kRows>(args, view, shared, table);
  constexpr int kPairs = Config::kDimQk / 64;  // a lane
  const QueryTile<Config, kRows> tile{shared};
  const int lane = threadIdx.x % 32;
  const float scale = logit_scale(args, view);
#pragma unroll 2
  for (int row = threadIdx.x / 32; row < kRows; row += Config::kWarps) {
    std::uint32_t pairs[kPairs] = {};
    const std::int64_t offset = offset_of_queries(args, view, row);
    if (offset >= 0) {
      const std::uint16_t* from = args.q + offset;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) pairs[i] = load_pair(args, from, 2 * (lane + 32 * i));
    }
    if (Config::k8Bit && !args.q_is_f16) {
      std::uint32_t largest = 0;
#pragma unroll
      for (int i = 0; i < kPairs; ++i)
        largest = max(largest, max(pairs[i] & 0x7fffU, (pairs[i] >> 16) & 0x7fffU));
      largest = __reduce_max_sync(~0U, largest);
      const float factor = f16_range_factor(largest);
#pragma unroll
      for (int i = 0; i < kPairs; ++i)
        pairs[i] = ptx::pack_f16(__uint_as_float(pairs[i] << 16) * factor,
                                 __uint_as_float(pairs[i] & 0xffff0000U) * factor);
      // Never 0, which would make NaN of masked logits.
      if (lane == 0)
        ptx::store_shared_32(row_scale + row * 4, __float_as_uint(fmaxf(scale / factor, 1e-37F)));
    } else if (Config::k8Bit && lane == 0) {
      ptx::store_shared_32(row_scale + row * 4, __float_as_uint(scale));
    }
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int pair = stored_pair<Config>(lane + 32 * i);
      const std::uint32_t to = tile.chunk(row, pair / 4) + pair % 4 * 4;
      ptx::store_shared_32(to, pairs[i]);
    }
  }
}

}  // namespace headwise::cuda
