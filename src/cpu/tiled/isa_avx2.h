#pragma once

// AVX2 with FMA and F16C as the tiled kernel wants it. For files compiled with those instructions
// only.

#include <immintrin.h>

#include "cpu/tiled/stretch.h"

namespace headwise::tiled {
namespace {

struct Avx2 {
  using F = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;  // 6 x 2 sums, 2 operands and a broadcast: 15 of 16 registers
  static constexpr int kColumns = 2;
  static constexpr int kSums = 8;  // that few rows keep in registers
  static constexpr bool kPairs = false;
  static constexpr bool kMatrixTiles = false;

  template <Stored kType>
  using Stretch = InOrder<Avx2, kType>;

  static F zero() { return _mm256_setzero_ps(); }
  static F set(float x) { return _mm256_set1_ps(x); }
  static F load_floats(const float* p) { return _mm256_loadu_ps(p); }
  static F load_units(const std::uint32_t* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
  static F broadcast_unit(const std::uint32_t* p) {
    return _mm256_broadcast_ss(reinterpret_cast<const float*>(p));
  }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F abs(F a) { return _mm256_andnot_ps(set(-0.0F), a); }
  static float first(F a) { return _mm256_cvtss_f32(a); }
  static bool any_greater(F a, F b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
  }
  static F multiply_add(F sum, F a, F b) { return _mm256_fmadd_ps(a, b, sum); }

  /// Far enough below the least power of two that a float holds; NaN passes, as max gives its
  /// second operand.
  static F bounded(F x) { return _mm256_max_ps(set(-200.0F), x); }

  /// x - floor(x), 0 of -inf.
  static F fraction(F x) { return _mm256_sub_ps(bounded(x), _mm256_floor_ps(bounded(x))); }

  /// a * 2^floor(x) in two steps, so that results below the least normal number come out as well.
  static F scale_by_floor(F a, F x) {
    const __m256i n = _mm256_cvtps_epi32(_mm256_floor_ps(bounded(x)));
    const __m256i half = _mm256_srai_epi32(n, 1);
    const auto power = [](__m256i e) {
      return _mm256_castsi256_ps(
          _mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
    };
    return mul(mul(a, power(half)), power(_mm256_sub_epi32(n, half)));
  }

  static float sum(F a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float largest(F a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }

  static F copy_sign(F magnitude, F sign) {
    const F mask = set(-0.0F);
    return _mm256_or_ps(_mm256_andnot_ps(mask, magnitude), _mm256_and_ps(mask, sign));
  }
  static F where_less(F a, F b, F yes, F no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static F where_between(const std::int32_t* p, std::int32_t low, std::int32_t high, F yes, F no) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i out = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(low), x),
                                        _mm256_cmpgt_epi32(x, _mm256_set1_epi32(high)));
    return _mm256_blendv_ps(yes, no, _mm256_castsi256_ps(out));
  }

  /// Lane i is the sum of v[i]'s lanes.
  static F sums_of(const F* v) {
    const F ab = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    const F cd = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return add(_mm256_permute2f128_ps(ab, cd, 0x20), _mm256_permute2f128_ps(ab, cd, 0x31));
  }

  /// 8 x 8 words, in place.
  static void transpose(F* r) {
    F t[8];
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
      r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
      r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
      r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
    for (int i = 0; i < 8; ++i) t[i] = r[i];
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(t[i], t[4 + i], 0x20);
      r[4 + i] = _mm256_permute2f128_ps(t[i], t[4 + i], 0x31);
    }
  }

  /// `left` numbers of `from`, from element `at` on, as floats; zeros behind them. Reads no
  /// further.
  template <Stored kType>
  static F load(const void* from, std::int64_t at, int left) {
    const auto* start = static_cast<const unsigned char*>(from) + at * stored_bytes(kType);
    alignas(32) unsigned char rest[32] = {};
    if (left < kLanes) {
      if (left > 0) __builtin_memcpy(rest, start, left * stored_bytes(kType));
      start = rest;
    }
    if constexpr (kType == Stored::f32)
      return _mm256_loadu_ps(reinterpret_cast<const float*>(start));
    const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(start));
    if constexpr (kType == Stored::f16 || kType == Stored::bf16) {
      const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(start));
      if constexpr (kType == Stored::f16) return _mm256_cvtph_ps(all);
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(all), 16));
    }
    if constexpr (kType == Stored::i8) return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(words));
    return from_e4m3(_mm256_cvtepu8_epi32(words));
  }

  /// Exponent and mantissa move to a float's place; subnormals come out by subtracting their hidden
  /// bit.
  static F from_e4m3(__m256i code) {
    const __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi32(0x7f));
    const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(code, _mm256_set1_epi32(0x80)), 24);
    const __m256i moved = _mm256_slli_epi32(magnitude, 20);
    const F normal = _mm256_castsi256_ps(_mm256_add_epi32(moved, _mm256_set1_epi32(120 << 23)));
    const F subnormal = sub(
        _mm256_castsi256_ps(_mm256_add_epi32(moved, _mm256_set1_epi32(121 << 23))), set(0x1p-6F));
    const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(8), magnitude);
    const __m256i nan = _mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x7f));
    F x = _mm256_blendv_ps(normal, subnormal, _mm256_castsi256_ps(small));
    x = _mm256_blendv_ps(x, set(__builtin_nanf("")), _mm256_castsi256_ps(nan));
    return _mm256_or_ps(x, _mm256_castsi256_ps(sign));
  }

  /// Rounds to nearest even; NaN stays NaN.
  static __m128i to_bf16(F x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i halves = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  }

  static void store_as(Stored type, F x, void* to, std::int64_t at, int left) {
    alignas(32) unsigned char bytes[32];
    if (type == Stored::f32)
      _mm256_store_ps(reinterpret_cast<float*>(bytes), x);
    else
      _mm_store_si128(
          reinterpret_cast<__m128i*>(bytes),
          type == Stored::f16 ? _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT) : to_bf16(x));
    const std::int64_t size = stored_bytes(type);
    auto* place = static_cast<unsigned char*>(to) + at * size;
    if (left >= kLanes)
      __builtin_memcpy(place, bytes, type == Stored::f32 ? 32 : 16);
    else
      __builtin_memcpy(place, bytes, left * size);
  }
};

}  // namespace
}  // namespace headwise::tiled
