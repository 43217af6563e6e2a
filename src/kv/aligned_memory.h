#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/check.h"

namespace headwise {

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Bytes from a multiple of 64 on: a cache line, and an AVX-512 register. Not initialised.
using AlignedBytes = std::unique_ptr<std::byte[], FreeMemory>;

/// Throws Error(not_possible) with `bytes` where there is no such memory.
inline AlignedBytes allocate_aligned(std::int64_t bytes) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t size = (static_cast<std::size_t>(bytes) + kAlignment - 1) & ~(kAlignment - 1);
  AlignedBytes memory(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
  if (!memory) throw Error(ErrorCode::not_possible, concat("no memory for ", bytes, " bytes"));
  return memory;
}

}  // namespace headwise
