#pragma once

// Keys as the cache stores them, transposed on their way: for few rows whose bits must be those
// that many rows give. File-local, as tile_kernel.h says.

#include "cpu/tiled/stretch.h"

namespace headwise::tiled {
namespace {

template <class Isa, Stored kType>
struct KeyColumns {
  using F = typename Isa::F;
  using Stretch = typename Isa::template Stretch<kType>;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kBytes = stored_bytes(kType);
  static constexpr int kLineNumbers = 64 / kBytes;  // of a line, which memory moves at once

  /// packed[dim, 64]; zeros behind dim as far as a vector goes. Meanwhile `next`'s rows are
  /// fetched.
  static void transpose(const std::byte* const* keys, int dim, const std::byte* const* next,
                        float* packed) {
    const Order order;
    for (int key = 0; key < kTileKeys; key += kLanes) {
      float* to = packed + key;
      int at = 0;
      for (; at + kNumbers <= dim; at += kNumbers) {
        if (at % kLineNumbers == 0) fetch(next + key, at);
        if constexpr (kType == Stored::bf16 && Stretch::kVectors == 2)
          transpose_pairs(keys + key, at, to + at * kTileKeys);
        else
          transpose_stretch(keys + key, at, order, to + at * kTileKeys);
      }
      for (; at < dim; at += kLanes) {
        F x[kLanes];
        for (int i = 0; i < kLanes; ++i)
          x[i] = Isa::template load<kType>(keys[key + i], at, dim - at);
        Isa::transpose(x);
        for (int i = 0; i < kLanes; ++i) Isa::store(to + (at + i) * kTileKeys, x[i]);
      }
    }
  }

 private:
  static constexpr int kNumbers = Stretch::kVectors * kLanes;

  /// Which number of a stretch each lane of its vectors holds.
  struct Order {
    float number[kNumbers];

    Order() {
      F x[Stretch::kVectors];
      for (int i = 0; i < kNumbers; ++i) number[i] = static_cast<float>(i);
      for (int v = 0; v < Stretch::kVectors; ++v) x[v] = Isa::load_floats(number + v * kLanes);
      Stretch::arrange(x);
      for (int v = 0; v < Stretch::kVectors; ++v) Isa::store(number + v * kLanes, x[v]);
    }
  };

  static void transpose_stretch(const std::byte* const* keys, int at, const Order& order,
                                float* to) {
    F x[Stretch::kVectors][kLanes];
    for (int i = 0; i < kLanes; ++i) {
      F wide[Stretch::kVectors];
      Stretch::widen(keys[i] + at * kBytes, wide);
      for (int v = 0; v < Stretch::kVectors; ++v) x[v][i] = wide[v];
    }
    for (int v = 0; v < Stretch::kVectors; ++v) {
      Isa::transpose(x[v]);
      for (int i = 0; i < kLanes; ++i)
        Isa::store(to + static_cast<int>(order.number[v * kLanes + i]) * kTileKeys, x[v][i]);
    }
  }

  /// A pair of bf16 numbers moves as one word: half as many moves.
  static void transpose_pairs(const std::byte* const* keys, int at, float* to) {
    F pairs[kLanes];
    for (int i = 0; i < kLanes; ++i)
      pairs[i] = Isa::load_floats(reinterpret_cast<const float*>(keys[i] + at * kBytes));
    Isa::transpose(pairs);
    for (int i = 0; i < kLanes; ++i) {
      F x[2];
      Stretch::split(pairs[i], x);
      Isa::store(to + 2 * i * kTileKeys, x[0]);
      Isa::store(to + (2 * i + 1) * kTileKeys, x[1]);
    }
  }

  static void fetch(const std::byte* const* rows, int at) {
    for (int i = 0; i < kLanes; ++i) __builtin_prefetch(rows[i] + at * kBytes, 0, 2);
  }
};

}  // namespace
}  // namespace headwise::tiled
