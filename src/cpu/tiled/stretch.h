#pragma once

// How stored numbers become vectors of floats where few rows meet them. File-local, as
// tile_kernel.h says.

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

/// A stretch of numbers that are widened at once, to kVectors vectors in an order that costs least;
/// arrange() brings vectors of floats to that order from memory's, restore() back. Here: one
/// vector, memory's order.
template <class Isa, Stored kType>
struct InOrder {
  using F = typename Isa::F;
  static constexpr int kVectors = 1;

  static void widen(const void* from, F* to) {
    to[0] = Isa::template load<kType>(from, 0, Isa::kLanes);
  }
  static void arrange(F*) {}
  static void restore(F*) {}
};

}  // namespace
}  // namespace headwise::tiled
