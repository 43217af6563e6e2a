#include <immintrin.h>

#include "bench/probe_kernels.h"

namespace headwise::bench {
namespace {

constexpr int kAccumulators = 24;

[[gnu::target("avx512f,avx512bf16")]] float dot(std::int64_t rounds) {
  __m512 sums[kAccumulators];
#pragma GCC unroll 24
  for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const volatile float opaque = 0.5F;  // unknown to the compiler, which would fold the loop
  const __m512bh x = _mm512_cvtne2ps_pbh(_mm512_set1_ps(opaque), _mm512_set1_ps(opaque));
  for (std::int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 24  // all of them, or they live in memory
    for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], x, x);
  __m512 total = _mm512_setzero_ps();
#pragma GCC unroll 24
  for (int i = 0; i < kAccumulators; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

bool runs_on(const CpuInfo& cpu) { return cpu.avx512_bf16; }

}  // namespace

const ProbeKernels avx512bf16_probes{.name = "avx512bf16",
                                     .runs_on = runs_on,
                                     .read = nullptr,
                                     .fma = nullptr,
                                     .fma_flops = 0.0,
                                     .dot = dot,
                                     .dot_flops = 4.0 * 16 * kAccumulators};

}  // namespace headwise::bench
