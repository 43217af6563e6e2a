#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/ptx/convert.cuh"
#include "cuda/ptx/math.cuh"
#include "headwise/dtype.h"

// Number formats of new tokens and of caches. A format widens exactly to F32, where a NaN is always
// kNaN, and narrows from it to nearest even; narrowed() packs the first kOfWord numbers into a
// word, the first one lowest.

namespace headwise::cuda::append {

inline constexpr std::uint32_t kNaN = 0x7fffffffU;
inline constexpr std::uint32_t kInfinity = 0x7f800000U;

/// Memory that is read or written at once.
template <int bytes>
struct alignas(bytes < 16 ? bytes : 16) Words {
  std::uint32_t word[bytes / 4];
};

__device__ __forceinline__ float with_plain_nan(float x) {
  return x == x ? x : __uint_as_float(kNaN);
}

struct F32 {
  using Stored = std::uint32_t;
  static constexpr int kBytes = 4;
  static constexpr int kOfWord = 1;
  __device__ static float widened(Stored bits) { return with_plain_nan(__uint_as_float(bits)); }
  __device__ static void widen(std::uint32_t word, float* x) { x[0] = widened(word); }
  __device__ static std::uint32_t narrowed(const float* x) { return __float_as_uint(x[0]); }
};

struct F16 {
  using Stored = std::uint16_t;
  static constexpr int kBytes = 2;
  static constexpr int kOfWord = 2;
  __device__ static float widened(Stored bits) {
    return with_plain_nan(__half2float(__ushort_as_half(bits)));
  }
  __device__ static void widen(std::uint32_t word, float* x) {
    x[0] = widened(static_cast<Stored>(word));
    x[1] = widened(static_cast<Stored>(word >> 16));
  }
  __device__ static std::uint32_t narrowed(const float* x) { return ptx::pack_f16(x[0], x[1]); }
};

struct Bf16 {
  using Stored = std::uint16_t;
  static constexpr int kBytes = 2;
  static constexpr int kOfWord = 2;
  __device__ static float widened(Stored bits) {
    return with_plain_nan(__uint_as_float(std::uint32_t{bits} << 16));
  }
  __device__ static void widen(std::uint32_t word, float* x) {
    x[0] = widened(static_cast<Stored>(word));
    x[1] = widened(static_cast<Stored>(word >> 16));
  }
  __device__ static std::uint32_t narrowed(const float* x) { return ptx::pack_bf16(x[0], x[1]); }
};

/// Numbers have been divided by their scale.
struct E4m3 {
  using Stored = std::uint8_t;
  static constexpr int kBytes = 1;
  static constexpr int kOfWord = 4;
  __device__ static std::uint32_t narrowed(const float* x) {
    return ptx::four_f32_to_e4m3(x[0], x[1], x[2], x[3]);
  }
};

/// The same; a subnormal scale may leave numbers beyond +-127.
struct I8 {
  using Stored = std::int8_t;
  static constexpr int kBytes = 1;
  static constexpr int kOfWord = 4;
  __device__ static std::uint32_t narrowed(const float* x) {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i)
      word |= (static_cast<std::uint32_t>(max(-127, min(127, __float2int_rn(x[i])))) & 0xffU)
              << (8 * i);
    return word;
  }
};

template <class Number>
struct NumberType {};

/// Calls visit(NumberType<...>{}).
template <class Visit>
void with_new_type(DType type, Visit&& visit) {
  if (type == DType::bf16) return visit(NumberType<Bf16>{});
  if (type == DType::f16) return visit(NumberType<F16>{});
  return visit(NumberType<F32>{});
}

template <class Visit>
void with_cache_type(DType type, Visit&& visit) {
  if (type == DType::f8e4m3) return visit(NumberType<E4m3>{});
  if (type == DType::i8) return visit(NumberType<I8>{});
  return with_new_type(type, visit);
}

}  // namespace headwise::cuda::append
