#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace headwise {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

using AlignedBytes = std::unique_ptr<std::byte[], FreeMemory>;

/// Bytes from a multiple of 64 on: a cache line, and an AVX-512 register. From 2 MiB up in huge
/// pages where the kernel has them: reading shuffled pages of a cache by small ones takes a quarter
/// longer. Not initialised; none for 0 bytes. Throws Error(not_possible) with `bytes` where there
/// is no such memory.
AlignedBytes allocate_aligned(std::int64_t bytes);

}  // namespace headwise
