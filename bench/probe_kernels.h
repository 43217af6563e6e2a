#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headwise/machine.h"

namespace headwise::bench {

/// Loops that run at the limit of one instruction set, in one thread. A table is used only where
/// `runs_on` says so.
struct ProbeKernels {
  const char* name;
  bool (*runs_on)(const CpuInfo&);

  /// Reads `streams` ranges that follow one another at `data`, side by side; each has
  /// `stream_bytes` bytes, a multiple of 64. Null: as the portable loop does.
  std::uint64_t (*read)(const std::byte* data, std::int64_t stream_bytes);

  /// F32 multiply-adds in registers, `rounds` times. Null: none of its own.
  float (*fma)(std::int64_t rounds);
  double fma_flops;  ///< a round

  /// BF16 products with F32 sums in registers. Null: none of its own.
  float (*dot)(std::int64_t rounds);
  double dot_flops;  ///< a round
};

/// Ranges that a read loop walks at once: more than the prefetchers of one range would keep busy.
inline constexpr int kReadStreams = 8;

extern const ProbeKernels portable_probes;
extern const ProbeKernels avx2_probes;
extern const ProbeKernels avx512_probes;
extern const ProbeKernels avx512bf16_probes;
extern const ProbeKernels amx_probes;

/// Every table, the widest instruction set last.
std::span<const ProbeKernels* const> all_probe_kernels();

}  // namespace headwise::bench
