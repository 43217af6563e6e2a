#pragma once

// Few rows, as a decode has them, against a tile of keys as the cache stores them: numbers are
// widened to F32 in registers, once for all rows, and neither copied nor transposed. File-local, as
// tile_kernel.h says.

#include "cpu/tiled/stretch.h"

namespace headwise::tiled {
namespace {

/// The least power of two that is not below n.
constexpr int power_above(int n) { return n <= 1 ? 1 : 2 * power_above((n + 1) / 2); }

/// `kType` is what keys and values are stored as, R the number of rows.
template <class Isa, Stored kType, int R>
struct FewRows {
  using F = typename Isa::F;
  using Stretch = typename Isa::template Stretch<kType>;
  static constexpr int kLanes = Isa::kLanes;
  static constexpr int kBytes = stored_bytes(kType);
  static constexpr int kLineNumbers = 64 / kBytes;  // of a line, which memory moves at once
  static constexpr int kNumbers = Stretch::kVectors * kLanes;  // of a stretch

  /// A query row from memory's order to that of the stretches. A rest behind the last whole stretch
  /// stays as it is.
  static void arrange(const float* from, int dim, float* to) {
    int at = 0;
    for (; at + kNumbers <= dim; at += kNumbers) {
      F x[Stretch::kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < Stretch::kVectors; ++v) x[v] = Isa::load_floats(from + at + v * kLanes);
      Stretch::arrange(x);
#pragma GCC unroll 16
      for (int v = 0; v < Stretch::kVectors; ++v) Isa::store(to + at + v * kLanes, x[v]);
    }
    for (; at < dim; at += kLanes) Isa::store(to + at, Isa::load_floats(from + at));
  }

  /// s[R, 64] = q[R, dim], arranged, times keys. Meanwhile `next`'s rows are fetched.
  static void scores(const float* q, std::int64_t q_stride, int dim, const std::byte* const* keys,
                     const std::byte* const* next, float* s) {
    constexpr int kKeys = kLanes / power_above(R);  // at a time, their sums in registers
    for (int key = 0; key < kTileKeys; key += kKeys) {
      F sum[kLanes];
      for (F& x : sum) x = Isa::zero();
      const auto multiply = [&](int j, F x, int at) {
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i)
          sum[i * kKeys + j] = fma(x, Isa::load_floats(q + i * q_stride + at), sum[i * kKeys + j]);
      };
      int at = 0;
      for (; at + kNumbers <= dim; at += kNumbers) {
#pragma GCC unroll 16
        for (int j = 0; j < kKeys; ++j) {
          if (at % kLineNumbers == 0) fetch(next[key + j] + at * kBytes);
          F x[Stretch::kVectors];
          Stretch::widen(keys[key + j] + at * kBytes, x);
#pragma GCC unroll 16
          for (int v = 0; v < Stretch::kVectors; ++v) multiply(j, x[v], at + v * kLanes);
        }
      }
      for (; at < dim; at += kLanes)
#pragma GCC unroll 16
        for (int j = 0; j < kKeys; ++j)
          multiply(j, Isa::template load<kType>(keys[key + j], at, dim - at), at);
      float sums[kLanes];
      Isa::store(sums, Isa::sums_of(sum));
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
        __builtin_memcpy(s + i * kTileKeys + key, sums + i * kKeys, kKeys * sizeof(float));
    }
  }

  /// o[R, dim] = o * correction + p[R, 64] times values. Meanwhile `next`'s rows are fetched.
  static void accumulate(const float* p, int dim, const std::byte* const* values,
                         const std::byte* const* next, const float* correction, float* o,
                         std::int64_t o_stride) {
    constexpr int kFitting = Isa::kSums / power_above(R) / Stretch::kVectors;
    constexpr int kWidest = 8 / Stretch::kVectors;
    const Job job{p, dim, values, next, correction, o, o_stride};
    const int at = accumulate_stretches<(kFitting < 1         ? 1
                                         : kFitting < kWidest ? kFitting
                                                              : kWidest)>(job, 0);
    const auto rest = [&job](const std::byte* value, int first, F* x) {
      *x = Isa::template load<kType>(value, first, job.dim - first);
    };
    for (int first = at; first < dim; first += kLanes)
      accumulate<1, InOrder<Isa, kType>>(job, first, rest);
  }

 private:
  /// What accumulate() was given.
  struct Job {
    const float* p;
    int dim;
    const std::byte* const* values;
    const std::byte* const* next;
    const float* correction;
    float* o;
    std::int64_t o_stride;
  };

  static F fma(F a, F b, F sum) {
    if constexpr (Isa::kPairs)
      return Isa::fma(a, b, sum);
    else
      return Isa::multiply_add(sum, a, b);
  }

  /// To the second-level cache: on its way to the first, a line holds one of a dozen places longer.
  static void fetch(const std::byte* line) { __builtin_prefetch(line, 0, 2); }

  /// All whole stretches from number `at` on, kCount at a time while there are as many. Returns
  /// where the rest begins.
  template <int kCount>
  static int accumulate_stretches(const Job& job, int at) {
    const auto widen = [](const std::byte* value, int first, F* x) {
      Stretch::widen(value + first * kBytes, x);
    };
    for (; at + kCount * kNumbers <= job.dim; at += kCount * kNumbers)
      accumulate<kCount, Stretch>(job, at, widen);
    if constexpr (kCount > 1)
      return accumulate_stretches<kCount / 2>(job, at);
    else
      return at;
  }

  /// kCount stretches from number `at` on, through all keys.
  template <int kCount, class Columns, class Widen>
  static void accumulate(const Job& job, int at, Widen&& widen) {
    constexpr int kVectors = Columns::kVectors;
    constexpr int kColumns = kCount * kVectors;
    F sum[R][kColumns];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const float* o = job.o + i * job.o_stride + at;
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; ++j)
        sum[i][j] = Isa::mul(Isa::set(job.correction[i]), Isa::load_floats(o + j * kLanes));
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; j += kVectors) Columns::arrange(sum[i] + j);
    }
    for (int key = 0; key < kTileKeys; ++key) {
      for (int byte = 0; byte < kColumns * kLanes * kBytes; byte += 64)
        fetch(job.next[key] + at * kBytes + byte);
      F value[kColumns];
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; j += kVectors)
        widen(job.values[key], at + j * kLanes, value + j);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const F weight = Isa::set(job.p[i * kTileKeys + key]);
#pragma GCC unroll 16
        for (int j = 0; j < kColumns; ++j) sum[i][j] = fma(weight, value[j], sum[i][j]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      float* o = job.o + i * job.o_stride + at;
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; j += kVectors) Columns::restore(sum[i] + j);
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; ++j) Isa::store(o + j * kLanes, sum[i][j]);
    }
  }
};

}  // namespace
}  // namespace headwise::tiled
