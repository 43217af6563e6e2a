#pragma once

#include <cstdint>

#include "cuda/ptx/convert.cuh"
#include "cuda/ptx/ldmatrix.cuh"
#include "cuda/ptx/math.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/tile/kv_format.h"

namespace headwise::cuda {

/// One product of 16-bit fragments in the format's type.
template <KvFormat kFormat>
__device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  if constexpr (kFormat == KvFormat::bf16)
    ptx::mma_bf16(d, a, b0, b1);
  else
    ptx::mma_f16(d, a, b0, b1);
}

template <KvFormat kFormat>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  return kFormat == KvFormat::bf16 ? ptx::pack_bf16(low, high) : ptx::pack_f16(low, high);
}

/// Four stored 8-bit numbers as F16.
template <KvFormat kFormat>
__device__ __forceinline__ ptx::F16Pairs widen(std::uint32_t bytes) {
  return kFormat == KvFormat::i8 ? ptx::i8_to_f16(bytes) : ptx::e4m3_to_f16(bytes);
}

/// Probabilities are multiplied by 2^kProbabilityBits, so that small ones stay above F16's
/// subnormal numbers; the largest is 2^(kProbabilityBits + kSlackBits).
template <KvFormat kFormat>
inline constexpr float kProbabilityBits = kFormat == KvFormat::bf16 ? 0.0F : 7.0F;

/// Probabilities that a lane adds up without having looked for the largest must not pass this: then
/// none of them passes F16's range.
inline constexpr float kMostOfLane = 32768.0F;

/// By how much (in log2) a logit may pass the row's reference before sums are rescaled.
inline constexpr float kSlackBits = 8.0F;

/// The reference that follows from a row's largest logit (base 2) and the one before. The first is
/// the logit itself: then the probability of a row's only key is exact. It rises by whole numbers,
/// so that probabilities which are rounded already stay exact as well.
template <KvFormat kFormat>
__device__ __forceinline__ float raised(float reference, float largest) {
  const float wanted = largest - kProbabilityBits<kFormat>;
  if (reference == -INFINITY) return wanted;
  return wanted > reference ? reference + ceilf(wanted - reference) : reference;
}

/// Whether a logit passes the reference by more than probabilities can bear.
template <KvFormat kFormat>
__device__ __forceinline__ bool passes(float reference, float logit) {
  return logit - kProbabilityBits<kFormat> > reference + kSlackBits;
}

/// What sums under `old` must be multiplied by under `now` >= old.
__device__ __forceinline__ float rescale_factor(float old, float now) {
  return old == now ? 1.0F : ptx::exp2(old - now);
}

/// What is subtracted from logits: a row that has seen no key yet has none.
__device__ __forceinline__ float subtrahend(float reference) {
  return reference == -INFINITY ? 0.0F : reference;
}

/// c * tanh(x / c) in base 2, from x and c in base 2. By the exponential, whose error in a small
/// result is a few units in c's last place; the tanh instruction's would be thousands.
__device__ __forceinline__ float capped(float logit, float cap) {
  constexpr float kLog2E = 1.44269504F;
  const float power = ptx::exp2(logit * __fdividef(2.0F * kLog2E, cap));
  return cap - __fdividef(2.0F * cap, power + 1.0F);
}

}  // namespace headwise::cuda
