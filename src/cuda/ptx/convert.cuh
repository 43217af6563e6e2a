#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace headwise::cuda::ptx {

/// Four bytes as numbers: 0 and 1 in `low`, 2 and 3 in `high`, as pairs of F16. Exact; NaN stays.
struct F16Pairs {
  std::uint32_t low;
  std::uint32_t high;
};

/// A code's seven bits below the sign, moved under F16's exponent, are its value times 2^-8, and
/// subnormals too; only NaN (480 that way) has to be told from numbers, the largest being 448.
__device__ __forceinline__ std::uint32_t two_e4m3_to_f16(std::uint32_t codes_in_high_bytes) {
  const std::uint32_t bits =
      (codes_in_high_bytes & 0x80008000U) | ((codes_in_high_bytes & 0x7f007f00U) >> 1);
  const __half2 small = *reinterpret_cast<const __half2*>(&bits);
  const __half2 overflow = __hmul2(small, __float2half2_rn(37376.0F));  // infinite for 480 alone
  const __half2 nan = __hmul2(overflow, __float2half2_rn(0.0F));
  const __half2 value = __hfma2(small, __float2half2_rn(256.0F), nan);
  return *reinterpret_cast<const std::uint32_t*>(&value);
}

/// For processors before 8.9, which have no instruction for it.
__device__ __forceinline__ F16Pairs e4m3_to_f16_by_bits(std::uint32_t codes) {
  return {two_e4m3_to_f16(__byte_perm(codes, 0, 0x1404)),
          two_e4m3_to_f16(__byte_perm(codes, 0, 0x3424))};
}

__device__ __forceinline__ F16Pairs e4m3_to_f16(std::uint32_t codes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  F16Pairs pairs;
  asm("{.reg .b16 a, b;\n mov.b32 {a, b}, %2;\n cvt.rn.f16x2.e4m3x2 %0, a;\n"
      " cvt.rn.f16x2.e4m3x2 %1, b;}"
      : "=r"(pairs.low), "=r"(pairs.high)
      : "r"(codes));
  return pairs;
#else
  return e4m3_to_f16_by_bits(codes);
#endif
}

/// A byte b + 128 under 0x64 is F16's 1024 + 128 + b.
__device__ __forceinline__ F16Pairs i8_to_f16(std::uint32_t bytes) {
  const std::uint32_t shifted = bytes ^ 0x80808080U;
  const std::uint32_t low = __byte_perm(shifted, 0x64646464U, 0x4140);
  const std::uint32_t high = __byte_perm(shifted, 0x64646464U, 0x4342);
  const __half2 offset = __float2half2_rn(1152.0F);
  const __half2 a = __hsub2(*reinterpret_cast<const __half2*>(&low), offset);
  const __half2 b = __hsub2(*reinterpret_cast<const __half2*>(&high), offset);
  return {*reinterpret_cast<const std::uint32_t*>(&a), *reinterpret_cast<const std::uint32_t*>(&b)};
}

/// An F32 number as an E4M3 code: to nearest even; saturates beyond +-448, NaN is 0x7f or 0xff.
/// Below 2^-6 adding 2^14 leaves multiples of 2^-9, rounded. For processors before 8.9.
__device__ __forceinline__ std::uint32_t f32_to_e4m3_by_bits(float x) {
  const std::uint32_t sign = (__float_as_uint(x) >> 24) & 0x80U;
  const std::uint32_t magnitude = __float_as_uint(x) & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | 0x7fU;
  if (magnitude >= 0x43e00000U) return sign | 0x7eU;
  if (magnitude < 0x3c800000U)
    return sign | (__float_as_uint(__fadd_rn(__uint_as_float(magnitude), 0x1p14F)) - 0x46800000U);
  const std::uint32_t rebased = magnitude - (120U << 23);
  return sign | ((rebased + 0x7ffffU + ((rebased >> 20) & 1U)) >> 20);
}

/// Four numbers, the first in the lowest byte.
__device__ __forceinline__ std::uint32_t four_f32_to_e4m3_by_bits(float a, float b, float c,
                                                                  float d) {
  return f32_to_e4m3_by_bits(a) | f32_to_e4m3_by_bits(b) << 8 | f32_to_e4m3_by_bits(c) << 16 |
         f32_to_e4m3_by_bits(d) << 24;
}

__device__ __forceinline__ std::uint32_t four_f32_to_e4m3(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint32_t codes;
  asm("{.reg .b16 low, high;\n cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      " cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n mov.b32 %0, {low, high};}"
      : "=r"(codes)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return codes;
#else
  return four_f32_to_e4m3_by_bits(a, b, c, d);
#endif
}

}  // namespace headwise::cuda::ptx
