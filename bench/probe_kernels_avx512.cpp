#include <immintrin.h>

#include "bench/probe_kernels.h"

namespace headwise::bench {
namespace {

constexpr int kAccumulators = 24;

[[gnu::target("avx512f")]] std::uint64_t read(const std::byte* data, std::int64_t stream_bytes) {
  __m512i sum = _mm512_setzero_si512();
  for (std::int64_t at = 0; at < stream_bytes; at += 64)
    for (int stream = 0; stream < kReadStreams; ++stream)
      sum = _mm512_xor_si512(sum, _mm512_loadu_si512(data + stream * stream_bytes + at));
  std::uint64_t words[8];
  _mm512_storeu_si512(words, sum);
  return words[0];
}

[[gnu::target("avx512f")]] float fma(std::int64_t rounds) {
  __m512 sums[kAccumulators];
#pragma GCC unroll 24
  for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const volatile float opaque = 0.5F;  // unknown to the compiler, which would fold the loop
  const __m512 x = _mm512_set1_ps(opaque);
  for (std::int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 24  // all of them, or they live in memory
    for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_fmadd_ps(sums[i], x, x);
  __m512 total = _mm512_setzero_ps();
#pragma GCC unroll 24
  for (int i = 0; i < kAccumulators; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

bool runs_on(const CpuInfo& cpu) { return cpu.avx512; }

}  // namespace

const ProbeKernels avx512_probes{.name = "avx512",
                                 .runs_on = runs_on,
                                 .read = read,
                                 .fma = fma,
                                 .fma_flops = 2.0 * 16 * kAccumulators,
                                 .dot = nullptr,
                                 .dot_flops = 0.0};

}  // namespace headwise::bench
