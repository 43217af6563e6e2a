#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace headwise::conformance {

/// Zero pages that exist once they are written.
class SparseMemory {
 public:
  explicit SparseMemory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                    MAP_NORESERVE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("cannot reserve memory");
    data_ = static_cast<std::byte*>(at);
  }
  ~SparseMemory() { munmap(data_, bytes_); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  std::byte* data() { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace headwise::conformance
