#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headwise {

/// What the processor has and the kernel lets a process use.
struct CpuInfo {
  std::string name;               ///< as the processor reports it
  int threads = 1;                ///< that this process may run on
  std::int64_t memory_bytes = 0;  ///< that this process may use (a cgroup's limit counts)
  std::int64_t last_cache_bytes = 0;
  bool avx2 = false;           ///< AVX2, FMA and F16C
  bool avx512 = false;         ///< AVX-512 F, BW, DQ, VL
  bool avx512_bf16 = false;    ///< AVX-512 with BF16 and VBMI
  bool slow_bf16_dot = false;  ///< BF16 dot products at half the rate of F32 FMA, as Intel has them
  bool amx_bf16 = false;       ///< AMX tiles with BF16, permission granted by the kernel

  friend bool operator==(const CpuInfo&, const CpuInfo&) = default;
};

/// A GPU as its driver describes it.
struct GpuInfo {
  std::string name;
  int compute_capability = 0;  ///< major * 10 + minor: 80, 86, 89, 90
  /// Bytes a block may opt in to. HEADWISE_SHARED_MEMORY_LIMIT (bytes) lowers it, so that tests see
  /// what smaller GPUs would run: 101376 is what 8.6 and 8.9 have.
  std::int64_t shared_memory_per_block = 0;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes_per_second = 0;  ///< at the memory's own clock and bus width
  int clock_mhz = 0;                         ///< of the multiprocessors, at most

  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// All that a backend may look at when it says whether it can run. Tests make their own.
struct Machine {
  CpuInfo cpu;
  std::vector<GpuInfo> gpus;  ///< by CUDA ordinal
  std::string no_gpu;         ///< why `gpus` is empty, where that is known
};

/// This machine, looked at once.
const Machine& this_machine();

/// "NVIDIA H200 (compute capability 9.0, 132 multiprocessors)", for logs and `headwise backends`.
std::string to_string(const GpuInfo& gpu);

/// "AVX-512, AVX-512-BF16" for --version and for `headwise backends`.
std::string instruction_sets(const CpuInfo& cpu);

}  // namespace headwise
