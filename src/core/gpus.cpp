#include "core/gpus.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "core/check.h"

namespace headwise {
namespace {

// The part of the driver's interface that is asked for, as cuda.h declares it.
enum Attribute : int {
  kClockKilohertz = 13,
  kMultiprocessors = 16,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedMemoryOptIn = 97,
};

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  std::string say(const char* what, int error) const {
    const char* text = nullptr;
    if (error_text(error, &text) != 0 || text == nullptr) text = "unknown error";
    return concat("NVIDIA's driver: ", what, ": ", text);
  }
};

/// False where the library lacks a function.
bool load(void* library, Driver& driver) {
  const auto find = [&](const char* name, auto& function) {
    void* symbol = dlsym(library, name);
    std::memcpy(&function, &symbol, sizeof(symbol));
    return symbol != nullptr;
  };
  return find("cuInit", driver.init) && find("cuDeviceGetCount", driver.count) &&
         find("cuDeviceGet", driver.get) && find("cuDeviceGetName", driver.name) &&
         find("cuDeviceGetAttribute", driver.attribute) &&
         find("cuDeviceTotalMem_v2", driver.memory) && find("cuGetErrorString", driver.error_text);
}

/// Returns the driver's error; 0 is none.
int describe(const Driver& driver, int ordinal, GpuInfo& gpu) {
  int device = 0;
  if (const int error = driver.get(&device, ordinal); error != 0) return error;
  int error = 0;
  const auto attribute = [&](Attribute which) -> std::int64_t {
    int value = 0;
    if (const int failed = driver.attribute(&value, which, device); failed != 0) error = failed;
    return value;
  };
  char name[256] = {};
  std::size_t memory = 0;
  if (const int failed = driver.name(name, sizeof(name) - 1, device); failed != 0) error = failed;
  if (const int failed = driver.memory(&memory, device); failed != 0) error = failed;
  gpu.name = name;
  gpu.compute_capability =
      static_cast<int>(10 * attribute(kCapabilityMajor) + attribute(kCapabilityMinor));
  gpu.shared_memory_per_block = attribute(kSharedMemoryOptIn);
  gpu.multiprocessors = static_cast<int>(attribute(kMultiprocessors));
  gpu.memory_bytes = static_cast<std::int64_t>(memory);
  gpu.l2_bytes = attribute(kL2Bytes);
  gpu.clock_mhz = static_cast<int>(attribute(kClockKilohertz) / 1000);
  // Memory moves data on both edges of its clock.
  gpu.memory_bytes_per_second =
      attribute(kMemoryClockKilohertz) * 1000 * 2 * (attribute(kMemoryBusBits) / 8);
  return error;
}

}  // namespace

GpuSearch find_gpus(const std::string& library) {
  // Stays loaded: the driver does not survive being unloaded.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {{}, concat("there is no NVIDIA driver (", library, ")")};
  Driver driver;
  if (!load(handle, driver)) return {{}, concat("NVIDIA's driver is too old (", library, ")")};
  if (const int error = driver.init(0); error != 0) return {{}, driver.say("cuInit", error)};
  int count = 0;
  if (const int error = driver.count(&count); error != 0)
    return {{}, driver.say("cuDeviceGetCount", error)};
  if (count == 0) return {{}, "NVIDIA's driver: no GPU"};
  GpuSearch found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    GpuInfo gpu;
    if (const int error = describe(driver, ordinal, gpu); error != 0)
      return {{}, driver.say(concat("cuda:", ordinal).c_str(), error)};
    found.gpus.push_back(gpu);
  }
  return found;
}

void limit_shared_memory(std::vector<GpuInfo>& gpus, const char* limit) {
  if (limit == nullptr || *limit == '\0') return;
  std::int64_t bytes = 0;
  const char* end = limit + std::strlen(limit);
  const auto [stop, error] = std::from_chars(limit, end, bytes);
  check(error == std::errc{} && stop == end && bytes >= 0, "HEADWISE_SHARED_MEMORY_LIMIT is '",
        limit, "', not a number of bytes");
  for (GpuInfo& gpu : gpus)
    gpu.shared_memory_per_block = std::min(gpu.shared_memory_per_block, bytes);
}

}  // namespace headwise
