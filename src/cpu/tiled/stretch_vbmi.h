#pragma once

// Stretches for AVX-512 with VBMI. For files compiled with those instructions only.

#include "cpu/tiled/stretch_avx512.h"

namespace headwise::tiled {
namespace {

/// The lower or upper bytes of the bf16 numbers that e4m3 codes 0 ... 127 stand for, all exact.
struct alignas(64) E4m3Bytes {
  std::uint8_t of[128];

  static constexpr std::uint32_t bf16_of(std::uint32_t code) {
    const std::uint32_t mantissa = code & 7U;
    if (code == 0x7fU) return 0x7fc0U;  // NaN
    if (code >= 8U) return ((code >> 3) + 120U) << 7 | mantissa << 4;
    if (mantissa == 0U) return 0U;
    const std::uint32_t high = mantissa >= 4U ? 2U : mantissa >= 2U ? 1U : 0U;  // mantissa * 2^-9
    return (118U + high) << 7 | (mantissa << (7U - high) & 0x7fU);
  }

  explicit constexpr E4m3Bytes(int shift) : of() {
    for (std::uint32_t code = 0; code < 128U; ++code)
      of[code] = static_cast<std::uint8_t>(bf16_of(code) >> shift);
  }

  /// Byte i of the result stands for the code in byte i, less its sign.
  __m512i look_up(__m512i codes) const {
    return _mm512_permutex2var_epi8(_mm512_load_si512(of), codes, _mm512_load_si512(of + 64));
  }
};

constexpr E4m3Bytes kE4m3Lower(0);
constexpr E4m3Bytes kE4m3Upper(8);

/// f8e4m3 by tables of bf16 numbers. Lower and upper bytes are interleaved lane by lane of 128
/// bits, so that vectors hold the even and the odd numbers of the lanes' lower halves, then of the
/// upper.
struct E4m3ByTable {
  static constexpr int kVectors = 4;

  static void widen(const void* from, __m512* to) {
    const __m512i codes = _mm512_loadu_si512(from);
    const __m512i lower = kE4m3Lower.look_up(codes);
    constexpr int kOrOfAnd = 0xf8;  // a | (b & c)
    const __m512i upper = _mm512_ternarylogic_epi32(kE4m3Upper.look_up(codes), codes,
                                                    _mm512_set1_epi8(-128), kOrOfAnd);
    EvenThenOdd::split(_mm512_unpacklo_epi8(lower, upper), to);
    EvenThenOdd::split(_mm512_unpackhi_epi8(lower, upper), to + 2);
  }

  static void arrange(__m512* x) {
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    for (int i = 0; i < 4; ++i) x[i] = _mm512_permutexvar_ps(order, x[i]);
    transpose_lanes(x);
  }
  static void restore(__m512* x) {
    const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    transpose_lanes(x);
    for (int i = 0; i < 4; ++i) x[i] = _mm512_permutexvar_ps(order, x[i]);
  }

 private:
  /// 4 x 4 lanes of 128 bits.
  static void transpose_lanes(__m512* x) {
    const __m512 a = _mm512_shuffle_f32x4(x[0], x[1], 0x44);
    const __m512 b = _mm512_shuffle_f32x4(x[2], x[3], 0x44);
    const __m512 c = _mm512_shuffle_f32x4(x[0], x[1], 0xee);
    const __m512 d = _mm512_shuffle_f32x4(x[2], x[3], 0xee);
    x[0] = _mm512_shuffle_f32x4(a, b, 0x88);
    x[1] = _mm512_shuffle_f32x4(a, b, 0xdd);
    x[2] = _mm512_shuffle_f32x4(c, d, 0x88);
    x[3] = _mm512_shuffle_f32x4(c, d, 0xdd);
  }
};

}  // namespace
}  // namespace headwise::tiled
