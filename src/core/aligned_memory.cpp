#include "core/aligned_memory.h"

#include <sys/mman.h>

#include "core/check.h"

namespace headwise {

AlignedBytes allocate_aligned(std::int64_t bytes) {
  constexpr std::int64_t kHugePage = 2 << 20;
  constexpr std::int64_t kLine = 64;
  const std::int64_t unit = bytes >= kHugePage ? kHugePage : kLine;
  const auto rounded = static_cast<std::size_t>((bytes + unit - 1) / unit * unit);
  if (rounded == 0) return {};
  AlignedBytes memory(
      static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(unit), rounded)));
  if (!memory) throw Error(ErrorCode::not_possible, concat("no memory for ", bytes, " bytes"));
  // A wish: a refusal costs speed only.
  if (unit == kHugePage) madvise(memory.get(), rounded, MADV_HUGEPAGE);
  return memory;
}

}  // namespace headwise
