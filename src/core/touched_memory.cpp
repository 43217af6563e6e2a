#include "core/touched_memory.h"

#include <algorithm>

namespace headwise {
namespace {

constexpr std::size_t kSmallPage = 4096;
constexpr std::size_t kPiece = 2 << 20;  // of a thread: a huge page, at most two

/// Areas as pieces, so that threads have as much to do as each other.
template <class Byte>
std::vector<std::span<Byte>> pieces_of(std::span<const std::span<Byte>> areas) {
  std::vector<std::span<Byte>> pieces;
  for (std::span<Byte> area : areas)
    for (; !area.empty(); area = area.subspan(pieces.back().size()))
      pieces.push_back(area.first(std::min(area.size(), kPiece)));
  return pieces;
}

/// Calls `touch` with a byte of each page.
template <class Byte, class Touch>
void for_each_page(std::span<const std::span<Byte>> areas, const Touch& touch) {
  const std::vector<std::span<Byte>> pieces = pieces_of(areas);
#pragma omp parallel for schedule(dynamic)
  for (const std::span<Byte> piece : pieces) {
    for (std::size_t at = 0; at < piece.size(); at += kSmallPage) touch(piece[at]);
    touch(piece.back());
  }
}

}  // namespace

void touch_for_writing(const std::vector<std::span<std::byte>>& areas) {
  for_each_page<std::byte>(areas,
                           [](std::byte& byte) { const_cast<volatile std::byte&>(byte) = {}; });
}

void touch_for_reading(std::span<const std::byte> area) {
  for_each_page<const std::byte>({&area, 1}, [](const std::byte& byte) {
    [[maybe_unused]] const std::byte read = const_cast<const volatile std::byte&>(byte);
  });
}

}  // namespace headwise
