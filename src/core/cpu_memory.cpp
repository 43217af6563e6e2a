#include <cstring>

#include "core/aligned_memory.h"
#include "headwise/device_memory.h"

namespace headwise {
namespace {

class CpuMemory final : public DeviceMemory {
 public:
  Device device() const override { return {}; }

  std::shared_ptr<std::byte> allocate(std::int64_t bytes) const override {
    return {allocate_aligned(bytes).release(), FreeMemory{}};
  }

  void copy_rows(std::byte* to, const std::byte* from, std::int64_t width, std::int64_t pitch,
                 std::int64_t rows, void*) const override {
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(to + row * pitch, from + row * pitch, static_cast<std::size_t>(width));
  }

  void upload(std::byte* to, const void* from, std::int64_t bytes, void*) const override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void download(void* to, const std::byte* from, std::int64_t bytes, void*) const override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

}  // namespace

const DeviceMemory& cpu_memory() {
  static const CpuMemory memory;
  return memory;
}

}  // namespace headwise
