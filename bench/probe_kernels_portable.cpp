#include "bench/probe_kernels.h"

#include <cstring>

namespace headwise::bench {
namespace {

constexpr int kAccumulators = 48;  // twelve vectors of four

std::uint64_t read(const std::byte* data, std::int64_t stream_bytes) {
  std::uint64_t sum = 0;
  for (std::int64_t at = 0; at < stream_bytes; at += 64)
    for (int stream = 0; stream < kReadStreams; ++stream) {
      std::uint64_t line[8];
      std::memcpy(line, data + stream * stream_bytes + at, sizeof(line));
      for (const std::uint64_t word : line) sum ^= word;
    }
  return sum;
}

/// Without an instruction for both, a multiplication and an addition.
float fma(std::int64_t rounds) {
  float sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) sums[i] = static_cast<float>(i);
  const volatile float opaque = 0.5F;  // unknown to the compiler, which would fold the loop
  const float x = opaque;
  for (std::int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < kAccumulators; ++i) sums[i] = sums[i] * x + x;
  float total = 0.0F;
  for (const float sum : sums) total += sum;
  return total;
}

bool runs_on(const CpuInfo&) { return true; }

}  // namespace

const ProbeKernels portable_probes{.name = "portable",
                                   .runs_on = runs_on,
                                   .read = read,
                                   .fma = fma,
                                   .fma_flops = 2.0 * kAccumulators,
                                   .dot = nullptr,
                                   .dot_flops = 0.0};

}  // namespace headwise::bench
