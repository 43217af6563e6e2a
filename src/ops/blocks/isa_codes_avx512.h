#pragma once

// Codes of four rows of a matrix, 16 of each, in AVX-512: a row a 128-bit lane. For files that are
// compiled for it; isa_codes_avx2.h has the same names.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace headwise {
namespace {

struct Codes {
  __m512i all;
};

/// 16 bytes of each row.
inline Codes four_rows(const std::byte* const (&row)[4], int offset) {
  const auto load = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[i] + offset));
  };
  __m512i all = _mm512_castsi128_si512(load(0));
  all = _mm512_inserti32x4(all, load(1), 1);
  all = _mm512_inserti32x4(all, load(2), 2);
  return {_mm512_inserti32x4(all, load(3), 3)};
}

inline void store_rows(const Codes& codes, std::int8_t (&to)[4][16]) {
  _mm512_storeu_si512(to, codes.all);
}

inline Codes low_nibbles(const Codes& bytes) {
  return {_mm512_and_si512(bytes.all, _mm512_set1_epi8(0x0f))};
}
inline Codes high_nibbles(const Codes& bytes) {
  return low_nibbles({_mm512_srli_epi16(bytes.all, 4)});
}
inline Codes flip_high_bits(const Codes& bytes) {
  return {_mm512_xor_si512(bytes.all, _mm512_set1_epi8(static_cast<char>(0x80)))};
}

/// Adds 16 where bit `bit` of the byte in `bits` is set.
inline Codes with_fifth_bit(const Codes& codes, const Codes& bits, int bit) {
  const __mmask64 where =
      _mm512_test_epi8_mask(bits.all, _mm512_set1_epi8(static_cast<char>(1 << bit)));
  return {_mm512_or_si512(codes.all, _mm512_maskz_mov_epi8(where, _mm512_set1_epi8(16)))};
}

/// Adds 16 to code i where bit i of its row's word is set: `words` has the rows' 32 bits in their
/// first four bytes, of which `half` takes 0-15 or 16-31.
inline Codes with_fifth_bits_of_words(const Codes& codes, const Codes& words, int half) {
  const int first = 0x02020202 * half;
  const int second = first + 0x01010101;
  const __m512i spread = _mm512_set4_epi32(second, second, first, first);
  const __m512i select = _mm512_set1_epi64(static_cast<std::int64_t>(0x8040201008040201U));
  const __mmask64 where = _mm512_test_epi8_mask(_mm512_shuffle_epi8(words.all, spread), select);
  return {_mm512_or_si512(codes.all, _mm512_maskz_mov_epi8(where, _mm512_set1_epi8(16)))};
}

/// Bits kFrom and kFrom + 1 of `bits` become bits 4 and 5 of the codes.
template <int kFrom>
inline Codes with_two_bits(const Codes& codes, const Codes& bits) {
  const __m512i moved =
      kFrom < 4 ? _mm512_slli_epi16(bits.all, 4 - kFrom) : _mm512_srli_epi16(bits.all, kFrom - 4);
  return {_mm512_or_si512(codes.all, _mm512_and_si512(moved, _mm512_set1_epi8(0x30)))};
}

}  // namespace
}  // namespace headwise
