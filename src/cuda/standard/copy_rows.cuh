#pragma once

#include "cuda/runtime/check.h"
#include "cuda/standard/kernels.h"
#include "cuda/standard/numbers.cuh"

namespace headwise::cuda::standard {

inline constexpr int kCopyThreads = 256;
inline constexpr int kCopyRows = 32;  ///< of one KV head in a block

template <class From, class To, int kCount>
__device__ void copy_pack(const RowCopy& copy, std::int64_t from_row, std::int64_t to_row,
                          int element) {
  Pack<To, kCount> result;
  if (from_row < 0 || element >= copy.dim) {
    for (int i = 0; i < kCount; ++i) result.number[i] = from_float<To>(0.0F);
  } else {
    const auto* from = static_cast<const From*>(copy.from) + from_row + element;
    const auto pack = *reinterpret_cast<const Pack<From, kCount>*>(from);
    for (int i = 0; i < kCount; ++i) result.number[i] = from_float<To>(to_float(pack.number[i]));
  }
  auto* to = static_cast<To*>(copy.to) + to_row * copy.to_dim + element;
  *reinterpret_cast<Pack<To, kCount>*>(to) = result;
}

/// Rows are located once a block, then copied by all threads.
template <class From, class To, int kCount, class Rows>
__global__ void __launch_bounds__(kCopyThreads) copy_rows(const Rows rows, const RowCopy copy) {
  __shared__ std::int64_t offsets[kCopyRows];
  const auto block = static_cast<int>(blockIdx.x);
  const auto thread = static_cast<int>(threadIdx.x);
  const int blocks = (copy.rows + kCopyRows - 1) / kCopyRows;  // of a KV head
  const int kv_head = block / blocks;
  const int first = block % blocks * kCopyRows;
  const int count = copy.rows - first < kCopyRows ? copy.rows - first : kCopyRows;
  if (thread < count) offsets[thread] = rows.locate(kv_head, first + thread);
  __syncthreads();
  const int packs = copy.to_dim / kCount;
  const std::int64_t to_row = std::int64_t{kv_head} * copy.rows + first;
  for (int i = thread; i < count * packs; i += kCopyThreads)
    copy_pack<From, To, kCount>(copy, offsets[i / packs], to_row + i / packs, i % packs * kCount);
}

template <class Rows>
void launch_copy(const Rows& rows, const RowCopy& copy, cudaStream_t stream) {
  const std::int64_t blocks =
      std::int64_t{copy.kv_heads} * ((copy.rows + kCopyRows - 1) / kCopyRows);
  const dim3 grid(static_cast<unsigned>(blocks));
  with_stored_type(copy.from_type, [&]<class From>(NumberType<From>) {
    with_product_type(copy.to_type, [&]<class To>(NumberType<To>) {
      if constexpr (kExact<From, To>) {
        if (copy.aligned)
          copy_rows<From, To, 8><<<grid, kCopyThreads, 0, stream>>>(rows, copy);
        else
          copy_rows<From, To, 1><<<grid, kCopyThreads, 0, stream>>>(rows, copy);
      }
    });
  });
  check_launch("cuda-standard: copying rows");
}

}  // namespace headwise::cuda::standard
