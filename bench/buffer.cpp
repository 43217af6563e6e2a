#include "bench/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headwise::bench {

Buffer::Buffer(std::int64_t bytes) : size_(bytes) {
  constexpr std::int64_t kHugePage = 2 << 20;
  constexpr std::int64_t kLine = 64;
  const std::int64_t unit = bytes >= kHugePage ? kHugePage : kLine;
  const auto rounded = static_cast<std::size_t>((bytes + unit - 1) / unit * unit);
  if (rounded == 0) return;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(unit), rounded)));
  if (!data_) throw std::bad_alloc();
  // A wish: a refusal costs speed only.
  if (unit == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
}

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace headwise::bench
