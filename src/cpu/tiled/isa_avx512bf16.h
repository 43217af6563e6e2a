#pragma once

// AVX-512 with VBMI and BF16 products as the tiled kernel wants it. For files compiled with those
// instructions only.

#include "cpu/tiled/isa_avx512.h"
#include "cpu/tiled/stretch_vbmi.h"

namespace headwise::tiled {
namespace {

/// Products in F32.
struct Avx512Vbmi : Avx512 {
  template <Stored kType>
  using Stretch = std::conditional_t<kType == Stored::f8e4m3, E4m3ByTable, Avx512::Stretch<kType>>;
};

/// Products of BF16 pairs, summed in F32.
struct Avx512Bf16 : Avx512Vbmi {
  static constexpr bool kPairs = true;

  static __m512bh as_pairs(F x) { return reinterpret_cast<__m512bh>(x); }
  static F multiply_add(F sum, F a, F b) { return _mm512_dpbf16_ps(sum, as_pairs(a), as_pairs(b)); }

  /// 32 floats as pairs, in the order of memory.
  static void store_pairs(std::uint32_t* to, F low, F high) {
    _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
  }

  /// Unit c of `to` is the pair (a[c], b[c]) of 32 elements.
  static void interleave(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* to) {
    const __m512i lanes =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                         37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i upper = _mm512_add_epi16(lanes, _mm512_set1_epi16(16));
    const __m512i x = _mm512_loadu_si512(a);
    const __m512i y = _mm512_loadu_si512(b);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(x, lanes, y));
    _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi16(x, upper, y));
  }
};

}  // namespace
}  // namespace headwise::tiled
