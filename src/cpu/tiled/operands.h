#pragma once

// From numbers as the cache stores them to operands of products. File-local, as tile_kernel.h says.

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

template <class Isa>
struct Operands {
  using F = typename Isa::F;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kPerUnit = Isa::kPairs ? 2 : 1;  // elements
  static constexpr int kSpan = kLanes * kPerUnit;       // elements of a vector of units

  template <Stored kType>
  static void convert(const void* from, int count, std::uint32_t* to, std::int64_t units) {
    for (std::int64_t u = 0; u < units; u += kLanes) {
      const int at = static_cast<int>(u) * kPerUnit;
      const F low = Isa::template load<kType>(from, at, count - at);
      if constexpr (Isa::kPairs)
        Isa::store_pairs(to + u, low,
                         Isa::template load<kType>(from, at + kLanes, count - at - kLanes));
      else
        Isa::store(reinterpret_cast<float*>(to + u), low);
    }
  }

  static void convert(Stored type, const void* from, int count, std::uint32_t* to,
                      std::int64_t units) {
    switch (type) {
      case Stored::f32:
        return convert<Stored::f32>(from, count, to, units);
      case Stored::f16:
        return convert<Stored::f16>(from, count, to, units);
      case Stored::bf16:
        return convert<Stored::bf16>(from, count, to, units);
      case Stored::f8e4m3:
        return convert<Stored::f8e4m3>(from, count, to, units);
      case Stored::i8:
        return convert<Stored::i8>(from, count, to, units);
    }
  }

  /// Whether stored rows serve as operands as they lie: of the products' type, and without a rest.
  static bool as_it_lies(Stored type, int head_dim) {
    return type == (Isa::kPairs ? Stored::bf16 : Stored::f32) && head_dim % kSpan == 0;
  }

  /// Points `rows` at the tile's keys or values as operands, in the cache or converted to `copies`.
  static void find_rows(const std::byte* const* stored, Stored type, int head_dim,
                        std::uint32_t* copies, std::int64_t units, const std::uint32_t** rows) {
    if (as_it_lies(type, head_dim)) {
      for (int i = 0; i < kTileKeys; ++i)
        rows[i] = reinterpret_cast<const std::uint32_t*>(stored[i]);
      return;
    }
    for (int i = 0; i < kTileKeys; ++i) {
      convert(type, stored[i], head_dim, copies + i * units, units);
      rows[i] = copies + i * units;
    }
  }

  static void transpose_keys(const std::uint32_t* const* rows, std::int64_t units,
                             std::uint32_t* packed) {
    for (int key = 0; key < kTileKeys; key += kLanes)
      for (std::int64_t u = 0; u < units; u += kLanes) {
        F x[kLanes];
        for (int i = 0; i < kLanes; ++i) x[i] = Isa::load_units(rows[key + i] + u);
        Isa::transpose(x);
        for (int i = 0; i < kLanes; ++i)
          Isa::store(reinterpret_cast<float*>(packed) + (u + i) * kTileKeys + key, x[i]);
      }
  }

  static void interleave_values(const std::uint32_t* const* rows, std::int64_t columns,
                                std::uint32_t* packed) {
    for (int key = 0; key < kTileKeys; key += 2)
      for (std::int64_t c = 0; c < columns; c += kSpan)
        Isa::interleave(rows[key] + c / 2, rows[key + 1] + c / 2, packed + key / 2 * columns + c);
  }
};

}  // namespace
}  // namespace headwise::tiled
