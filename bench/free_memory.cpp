#include "bench/free_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string_view>

#include "bench/gpu.h"

namespace headwise::bench {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

std::int64_t system_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kib = 0;
  std::string unit;
  while (file >> key >> kib && std::getline(file, unit))
    if (key == "MemAvailable:") return kib * 1024;
  return kUnknown;
}

/// cgroup v2: memory.max is "max" or bytes.
std::int64_t cgroup_available() {
  std::int64_t limit = 0;
  std::int64_t used = 0;
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> limit)) return kUnknown;
  if (!(std::ifstream("/sys/fs/cgroup/memory.current") >> used)) return kUnknown;
  return std::max<std::int64_t>(0, limit - used);
}

}  // namespace

std::int64_t free_memory() { return std::min(system_available(), cgroup_available()); }

std::int64_t free_memory(Gpu* gpu) { return gpu != nullptr ? gpu->free_bytes() : free_memory(); }

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024.0) return fmt::format("{:.0f} B", bytes);
  std::size_t unit = 0;
  for (bytes /= 1024.0; bytes >= 1024.0 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024.0;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace headwise::bench
