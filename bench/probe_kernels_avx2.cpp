#include <immintrin.h>

#include "bench/probe_kernels.h"

namespace headwise::bench {
namespace {

constexpr int kAccumulators = 12;

[[gnu::target("avx2")]] std::uint64_t read(const std::byte* data, std::int64_t stream_bytes) {
  __m256i sum = _mm256_setzero_si256();
  for (std::int64_t at = 0; at < stream_bytes; at += 64)
    for (int stream = 0; stream < kReadStreams; ++stream) {
      const auto* line = reinterpret_cast<const __m256i*>(data + stream * stream_bytes + at);
      sum = _mm256_xor_si256(sum, _mm256_loadu_si256(line));
      sum = _mm256_xor_si256(sum, _mm256_loadu_si256(line + 1));
    }
  return static_cast<std::uint64_t>(_mm256_extract_epi64(sum, 0) ^ _mm256_extract_epi64(sum, 3));
}

[[gnu::target("avx2,fma")]] float fma(std::int64_t rounds) {
  __m256 sums[kAccumulators];
#pragma GCC unroll 12
  for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const volatile float opaque = 0.5F;  // unknown to the compiler, which would fold the loop
  const __m256 x = _mm256_set1_ps(opaque);
  for (std::int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12  // all of them, or they live in memory
    for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm256_fmadd_ps(sums[i], x, x);
  __m256 total = _mm256_setzero_ps();
#pragma GCC unroll 12
  for (int i = 0; i < kAccumulators; ++i) total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

bool runs_on(const CpuInfo& cpu) { return cpu.avx2; }

}  // namespace

const ProbeKernels avx2_probes{.name = "avx2",
                               .runs_on = runs_on,
                               .read = read,
                               .fma = fma,
                               .fma_flops = 2.0 * 8 * kAccumulators,
                               .dot = nullptr,
                               .dot_flops = 0.0};

}  // namespace headwise::bench
