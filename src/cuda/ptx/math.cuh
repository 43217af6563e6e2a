#pragma once

#include <cstdint>

namespace headwise::cuda::ptx {

/// 2^x within 2 ulp; 2^-inf is 0.
__device__ __forceinline__ float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Two F32 numbers, rounded to nearest even, in one register; `low` in the low half.
__device__ __forceinline__ std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

__device__ __forceinline__ std::uint32_t pack_f16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// Starts bringing what lies there to the first-level cache.
__device__ __forceinline__ void prefetch(const void* global) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(global));
}

/// Adds one with acquire and release at the device's scope; returns the old value.
__device__ __forceinline__ std::uint32_t count_up(std::uint32_t* counter) {
  std::uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(old)
               : "l"(counter)
               : "memory");
  return old;
}

/// Waits until others have counted a counter up to `count`, and sees what they wrote before.
/// Acquires once only: an acquiring load empties the first-level cache that others on the
/// multiprocessor use.
__device__ __forceinline__ void wait_for(const std::uint32_t* counter, std::uint32_t count) {
  for (;;) {
    std::uint32_t now;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    if (now >= count) break;
    __nanosleep(100);
  }
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

}  // namespace headwise::cuda::ptx
