#include "headwise/machine.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/check.h"
#include "core/gpus.h"
#include "core/threads.h"

namespace headwise {
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1U) != 0; }

/// The register state that the kernel saves and restores (XCR0); zero where XSAVE is off.
std::uint64_t enabled_state() {
  if (!bit(cpuid(1).ecx, 27)) return 0;
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// Linux grants AMX tile data to a process on request (arch_prctl ARCH_REQ_XCOMP_PERM, feature 18).
bool request_amx() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool is_intel() {
  const Registers r = cpuid(0);
  return r.ebx == 0x756e6547 && r.edx == 0x49656e69 && r.ecx == 0x6c65746e;  // "GenuineIntel"
}

std::string processor_name() {
  char name[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002U + i);
    std::memcpy(name + 16 * i, &r, 16);
  }
  std::string text(name);
  text.erase(0, text.find_first_not_of(' ') == std::string::npos ? 0 : text.find_first_not_of(' '));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.empty() ? "x86-64" : text;
}

std::int64_t memory_limit() {
  std::int64_t bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::int64_t limit = 0;
  if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  return bytes;
}

std::int64_t last_cache() {
  for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = sysconf(level); bytes > 0) return bytes;
  return 0;
}

CpuInfo detect_cpu() {
  constexpr std::uint64_t kAvxState = 0x6;
  constexpr std::uint64_t kAvx512State = 0xe6;
  constexpr std::uint64_t kTileState = 0x60000;
  const std::uint64_t state = enabled_state();
  const bool avx_state = (state & kAvxState) == kAvxState;
  const bool avx512_state = (state & kAvx512State) == kAvx512State;
  const Registers basic = cpuid(1);
  const Registers extended = cpuid(7);
  const Registers further = cpuid(7, 1);

  CpuInfo cpu;
  cpu.name = processor_name();
  cpu.threads = available_threads();
  cpu.memory_bytes = memory_limit();
  cpu.last_cache_bytes = last_cache();
  cpu.avx2 = avx_state && bit(extended.ebx, 5) && bit(basic.ecx, 12) && bit(basic.ecx, 29);
  cpu.avx512 = cpu.avx2 && avx512_state && bit(extended.ebx, 16) && bit(extended.ebx, 17) &&
               bit(extended.ebx, 30) && bit(extended.ebx, 31);
  cpu.avx512_bf16 = cpu.avx512 && bit(extended.ecx, 1) && bit(further.eax, 5);
  cpu.slow_bf16_dot = cpu.avx512_bf16 && is_intel();
  cpu.amx_bf16 = cpu.avx512_bf16 && (state & kTileState) == kTileState && bit(extended.edx, 22) &&
                 bit(extended.edx, 24) && request_amx();
  return cpu;
}

}  // namespace

const Machine& this_machine() {
  static const Machine machine = [] {
    GpuSearch found = find_gpus();
    limit_shared_memory(found.gpus, std::getenv("HEADWISE_SHARED_MEMORY_LIMIT"));
    return Machine{detect_cpu(), std::move(found.gpus), std::move(found.no_gpu)};
  }();
  return machine;
}

std::string to_string(const GpuInfo& gpu) {
  return concat(gpu.name, " (compute capability ", gpu.compute_capability / 10, ".",
                gpu.compute_capability % 10, ", ", gpu.multiprocessors, " multiprocessors)");
}

std::string instruction_sets(const CpuInfo& cpu) {
  std::string text;
  const auto add = [&](bool has, const char* name) {
    if (has) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(cpu.avx2, "AVX2");
  add(cpu.avx512, "AVX-512");
  add(cpu.avx512_bf16, "AVX-512-BF16");
  add(cpu.amx_bf16, "AMX-BF16");
  return text.empty() ? "baseline x86-64" : text;
}

}  // namespace headwise
