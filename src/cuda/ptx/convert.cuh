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

}  // namespace headwise::cuda::ptx
