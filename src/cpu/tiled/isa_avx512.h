#pragma once

// AVX-512 (F, BW, DQ, VL) as the tiled kernel wants it. For files compiled with those instructions
// only.

#include <immintrin.h>

#include <type_traits>

#include "cpu/tiled/stretch.h"
#include "cpu/tiled/stretch_avx512.h"

namespace headwise::tiled {
namespace {

struct Avx512 {
  using F = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kRows = 6;  // 6 x 4 sums, 4 operands and a broadcast fill the 32 registers
  static constexpr int kColumns = 4;
  static constexpr int kSums = 16;  // that few rows keep in registers
  static constexpr bool kPairs = false;
  static constexpr bool kMatrixTiles = false;

  template <Stored kType>
  using Stretch = std::conditional_t<kType == Stored::bf16, EvenThenOdd, InOrder<Avx512, kType>>;

  static __mmask16 first_lanes(int n) {
    return n >= 16  ? __mmask16{0xffff}
           : n <= 0 ? __mmask16{0}
                    : static_cast<__mmask16>((1U << n) - 1U);
  }

  static F zero() { return _mm512_setzero_ps(); }
  static F set(float x) { return _mm512_set1_ps(x); }
  static F load_floats(const float* p) { return _mm512_loadu_ps(p); }
  static F load_units(const std::uint32_t* p) { return _mm512_loadu_ps(p); }
  static F broadcast_unit(const std::uint32_t* p) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(*p)));
  }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F abs(F a) { return _mm512_abs_ps(a); }
  /// x - floor(x), 0 of -inf.
  static F fraction(F x) { return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
  /// a * 2^floor(x), 0 where x is -inf.
  static F scale_by_floor(F a, F x) { return _mm512_scalef_ps(a, x); }
  static float first(F a) { return _mm512_cvtss_f32(a); }
  static float sum(F a) { return _mm512_reduce_add_ps(a); }
  static float largest(F a) { return _mm512_reduce_max_ps(a); }
  static bool any_greater(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }
  static F multiply_add(F sum, F a, F b) { return _mm512_fmadd_ps(a, b, sum); }

  static F copy_sign(F magnitude, F sign) {
    const __m512 mask = _mm512_set1_ps(-0.0F);
    return _mm512_or_ps(_mm512_andnot_ps(mask, magnitude), _mm512_and_ps(mask, sign));
  }
  static F where_less(F a, F b, F yes, F no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
  }
  static F where_between(const std::int32_t* p, std::int32_t low, std::int32_t high, F yes, F no) {
    const __m512i x = _mm512_loadu_si512(p);
    const __mmask16 in = _mm512_cmpge_epi32_mask(x, _mm512_set1_epi32(low)) &
                         _mm512_cmple_epi32_mask(x, _mm512_set1_epi32(high));
    return _mm512_mask_blend_ps(in, no, yes);
  }

  /// Lane i is the sum of v[i]'s lanes: a tree of 15 shuffled additions.
  static F sums_of(const F* v) {
    F a[8];
    for (int i = 0; i < 8; ++i)
      a[i] = add(_mm512_shuffle_f32x4(v[i], v[i + 8], 0x44),
                 _mm512_shuffle_f32x4(v[i], v[i + 8], 0xee));
    for (int i = 0; i < 4; ++i)
      a[i] = add(_mm512_shuffle_f32x4(a[i], a[i + 4], 0x88),
                 _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd));
    const F even = add(_mm512_unpacklo_ps(a[0], a[2]), _mm512_unpackhi_ps(a[0], a[2]));
    const F odd = add(_mm512_unpacklo_ps(a[1], a[3]), _mm512_unpackhi_ps(a[1], a[3]));
    const F quads = add(_mm512_unpacklo_ps(even, odd), _mm512_unpackhi_ps(even, odd));
    return _mm512_shuffle_f32x4(quads, quads, 0xd8);
  }

  /// 16 x 16 words, in place.
  static void transpose(F* x) {
    __m512i r[16];
    __m512i t[16];
    for (int i = 0; i < 16; ++i) r[i] = _mm512_castps_si512(x[i]);
    for (int i = 0; i < 8; ++i) {
      t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i) {
      r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
      r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
      r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
      r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88);
      t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xdd);
      t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88);
      t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
      r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
      r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
      r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
    }
    for (int i = 0; i < 16; ++i) x[i] = _mm512_castsi512_ps(r[i]);
  }

  /// `left` numbers of `from`, from element `at` on, as floats; zeros behind them. Reads no
  /// further.
  template <Stored kType>
  static F load(const void* from, std::int64_t at, int left) {
    const __mmask16 mask = first_lanes(left);
    if constexpr (kType == Stored::f32)
      return _mm512_maskz_loadu_ps(mask, static_cast<const float*>(from) + at);
    if constexpr (kType == Stored::f16)
      return _mm512_cvtph_ps(
          _mm256_maskz_loadu_epi16(mask, static_cast<const std::uint16_t*>(from) + at));
    if constexpr (kType == Stored::bf16)
      return _mm512_castsi512_ps(
          _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(
                                mask, static_cast<const std::uint16_t*>(from) + at)),
                            16));
    const __m128i bytes = _mm_maskz_loadu_epi8(mask, static_cast<const std::uint8_t*>(from) + at);
    if constexpr (kType == Stored::i8) return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
    return from_e4m3(_mm512_cvtepu8_epi32(bytes));
  }

  /// Exponent and mantissa move to a float's place; subnormals come out by subtracting their hidden
  /// bit.
  static F from_e4m3(__m512i code) {
    const __m512i magnitude = _mm512_and_si512(code, _mm512_set1_epi32(0x7f));
    const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(code, _mm512_set1_epi32(0x80)), 24);
    const __m512i moved = _mm512_slli_epi32(magnitude, 20);
    const F normal = _mm512_castsi512_ps(_mm512_add_epi32(moved, _mm512_set1_epi32(120 << 23)));
    const F subnormal = sub(
        _mm512_castsi512_ps(_mm512_add_epi32(moved, _mm512_set1_epi32(121 << 23))), set(0x1p-6F));
    F x = _mm512_mask_blend_ps(_mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(8)), normal,
                               subnormal);
    x = _mm512_mask_blend_ps(_mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x7f)), x,
                             set(__builtin_nanf("")));
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(x), sign));
  }

  /// Rounds to nearest even; NaN stays NaN.
  static __m256i to_bf16(F x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
  }

  static void store_as(Stored type, F x, void* to, std::int64_t at, int left) {
    const __mmask16 mask = first_lanes(left);
    if (type == Stored::f32) return _mm512_mask_storeu_ps(static_cast<float*>(to) + at, mask, x);
    const __m256i narrow =
        type == Stored::f16 ? _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT) : to_bf16(x);
    _mm256_mask_storeu_epi16(static_cast<std::uint16_t*>(to) + at, mask, narrow);
  }
};

}  // namespace
}  // namespace headwise::tiled
