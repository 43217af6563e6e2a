#include <algorithm>

#include "bench/gpu_kernels.cuh"
#include "bench/random_hash.h"

namespace headwise::bench {
namespace {

constexpr int kFillThreads = 256;
constexpr int kReadThreads = 512;
constexpr int kLoads = 8;  // under way in each thread

/// Four elements a step, written at once.
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

template <class T>
__global__ void __launch_bounds__(kFillThreads)
    fill_kernel(T* to, const T* __restrict__ table, std::int64_t count, std::uint64_t start) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kFillThreads;
  const std::int64_t blocks = (count + 3) / 4;
  for (std::int64_t block = blockIdx.x * std::int64_t{kFillThreads} + threadIdx.x; block < blocks;
       block += step) {
    const std::uint64_t bits = random_bits(start, block);
    Four<T> four;
#pragma unroll
    for (int i = 0; i < 4; ++i) four.values[i] = table[(bits >> (16 * i)) & 0xffffU];
    if (block * 4 + 4 <= count) {
      reinterpret_cast<Four<T>*>(to)[block] = four;
      continue;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (block * 4 + i < count) to[block * 4 + i] = four.values[i];
  }
}

template <class T>
void fill(void* to, const void* table, std::int64_t count, std::uint64_t start,
          cudaStream_t stream) {
  const std::int64_t blocks = ((count + 3) / 4 + kFillThreads - 1) / kFillThreads;
  fill_kernel<T>
      <<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 1 << 14)), kFillThreads, 0, stream>>>(
          static_cast<T*>(to), static_cast<const T*>(table), count, start);
}

/// A warp a row.
template <class T>
__global__ void __launch_bounds__(kFillThreads)
    fill_outliers_kernel(T* to, const T* __restrict__ table, OutlierRows outliers,
                         std::uint64_t start) {
  constexpr int kWarps = kFillThreads / 32;
  const std::int64_t width = outliers.width;
  for (std::int64_t row = blockIdx.x * std::int64_t{kWarps} + threadIdx.x / 32; row < outliers.rows;
       row += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    if (!is_outlier(start, row, outliers.every)) continue;
    for (std::int64_t i = row * width + threadIdx.x % 32; i < (row + 1) * width; i += 32)
      to[i] = table[(random_bits(start, i / 4) >> (16 * (i % 4))) & 0xffffU];
  }
}

template <class T>
void fill_outliers_of(void* to, const void* table, const OutlierRows& outliers, std::uint64_t start,
                      cudaStream_t stream) {
  constexpr int kWarps = kFillThreads / 32;
  const std::int64_t blocks = (outliers.rows + kWarps - 1) / kWarps;
  fill_outliers_kernel<T>
      <<<static_cast<unsigned>(std::min<std::int64_t>(blocks, 1 << 14)), kFillThreads, 0, stream>>>(
          static_cast<T*>(to), static_cast<const T*>(table), outliers, start);
}

__device__ uint4 load_once(const uint4* from) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

/// Each block takes pieces of kReadThreads * kLoads vectors, as far apart as there are blocks.
__global__ void __launch_bounds__(kReadThreads)
    read_kernel(const uint4* __restrict__ from, std::int64_t vectors, uint4* sum) {
  constexpr std::int64_t kPiece = std::int64_t{kReadThreads} * kLoads;
  uint4 all = {0, 0, 0, 0};
  const auto add = [&](const uint4& value) {
    all.x ^= value.x;
    all.y ^= value.y;
    all.z ^= value.z;
    all.w ^= value.w;
  };
  for (std::int64_t piece = blockIdx.x * kPiece; piece < vectors; piece += gridDim.x * kPiece) {
    const uint4* at = from + piece + threadIdx.x;
    if (piece + kPiece <= vectors) {
      uint4 values[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) values[i] = load_once(at + i * kReadThreads);
#pragma unroll
      for (int i = 0; i < kLoads; ++i) add(values[i]);
      continue;
    }
    for (std::int64_t i = piece + threadIdx.x; i < vectors; i += kReadThreads)
      add(load_once(from + i));
  }
  // So that the loads count for something.
  if ((all.x & all.y & all.z & all.w) == 0xffffffffU) *sum = all;
}

__device__ std::int64_t nanoseconds() {
  std::int64_t time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

/// From a tick of the timer to another: it moves in steps, of up to a microsecond.
__global__ void clock_kernel(ClockReading* to) {
  constexpr std::int64_t kSpan = 100'000;  // nanoseconds
  const std::int64_t before = nanoseconds();
  std::int64_t first = before;
  while (first == before) first = nanoseconds();
  const std::int64_t first_cycle = clock64();
  std::int64_t last = first;
  while (last < first + kSpan) last = nanoseconds();
  to->cycles = clock64() - first_cycle;
  to->nanoseconds = last - first;
}

}  // namespace

void launch_fill(void* to, const void* table, std::int64_t element, std::int64_t count,
                 std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return;
  const std::uint64_t start = splitmix(seed);
  if (element == 1) return fill<std::uint8_t>(to, table, count, start, stream);
  if (element == 2) return fill<std::uint16_t>(to, table, count, start, stream);
  fill<std::uint32_t>(to, table, count, start, stream);
}

void launch_fill_outliers(void* to, const void* table, std::int64_t element,
                          const OutlierRows& outliers, std::uint64_t seed, cudaStream_t stream) {
  if (outliers.rows == 0) return;
  const std::uint64_t start = splitmix(seed);
  if (element == 1) return fill_outliers_of<std::uint8_t>(to, table, outliers, start, stream);
  if (element == 2) return fill_outliers_of<std::uint16_t>(to, table, outliers, start, stream);
  fill_outliers_of<std::uint32_t>(to, table, outliers, start, stream);
}

void launch_read(const void* from, std::int64_t bytes, int blocks, void* sum, cudaStream_t stream) {
  read_kernel<<<static_cast<unsigned>(blocks), kReadThreads, 0, stream>>>(
      static_cast<const uint4*>(from), bytes / 16, static_cast<uint4*>(sum));
}

void launch_clock(ClockReading* to, cudaStream_t stream) { clock_kernel<<<1, 1, 0, stream>>>(to); }

}  // namespace headwise::bench
