#pragma once

// Stretches for AVX-512. For files compiled with those instructions only.

#include <immintrin.h>

#include "cpu/tiled/tile.h"

namespace headwise::tiled {
namespace {

/// Even numbers, then odd ones: a pair of bf16 numbers is two floats, but for a shift or a mask.
struct EvenThenOdd {
  static constexpr int kVectors = 2;

  static void split(__m512i pairs, __m512* to) {
    to[0] = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    to[1] = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536)));
  }
  static void split(__m512 pairs, __m512* to) { split(_mm512_castps_si512(pairs), to); }
  static void widen(const void* from, __m512* to) { split(_mm512_loadu_si512(from), to); }

  static void arrange(__m512* x) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512 a = _mm512_permutex2var_ps(x[0], even, x[1]);
    x[1] = _mm512_permutex2var_ps(x[0], _mm512_or_si512(even, _mm512_set1_epi32(1)), x[1]);
    x[0] = a;
  }
  static void restore(__m512* x) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512 a = _mm512_permutex2var_ps(x[0], low, x[1]);
    x[1] = _mm512_permutex2var_ps(x[0], _mm512_add_epi32(low, _mm512_set1_epi32(8)), x[1]);
    x[0] = a;
  }
};

}  // namespace
}  // namespace headwise::tiled
