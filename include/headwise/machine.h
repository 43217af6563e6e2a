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
  bool avx2 = false;    ///< AVX2, FMA and F16C
  bool avx512 = false;  ///< AVX-512 F, BW, DQ, VL
  bool avx512_bf16 = false;
  bool slow_bf16_dot = false;  ///< BF16 dot products at half the rate of F32 FMA, as Intel has them
  bool amx_bf16 = false;       ///< AMX tiles with BF16, permission granted by the kernel

  friend bool operator==(const CpuInfo&, const CpuInfo&) = default;
};

struct GpuInfo {
  std::string name;
  int compute_capability = 0;                ///< major * 10 + minor: 80, 86, 89, 90
  std::int64_t shared_memory_per_block = 0;  ///< bytes a block may opt in to
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;

  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// All that a backend may look at when it says whether it can run. Tests make their own.
struct Machine {
  CpuInfo cpu;
  std::vector<GpuInfo> gpus;  ///< by CUDA ordinal
};

/// This machine, looked at once.
const Machine& this_machine();

/// "AVX-512, AVX-512-BF16" for --version and for `headwise backends`.
std::string instruction_sets(const CpuInfo& cpu);

}  // namespace headwise
