#pragma once

// Codes of four rows of a matrix, 16 of each, in AVX2: two rows a register. For files that are
// compiled for it; isa_codes_avx512.h has the same names, and says what they mean.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace headwise {
namespace {

struct Codes {
  __m256i half[2];

  __m128i row(int i) const {
    return i % 2 == 0 ? _mm256_castsi256_si128(half[i / 2])
                      : _mm256_extracti128_si256(half[i / 2], 1);
  }
};

/// `change` of both registers.
template <class Change>
inline Codes each_half(const Codes& codes, const Change& change) {
  return {change(codes.half[0], 0), change(codes.half[1], 1)};
}

inline Codes four_rows(const std::byte* const (&row)[4], int offset) {
  const auto load = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[i] + offset));
  };
  return {_mm256_set_m128i(load(1), load(0)), _mm256_set_m128i(load(3), load(2))};
}

inline void store_rows(const Codes& codes, std::int8_t (&to)[4][16]) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[0]), codes.half[0]);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[2]), codes.half[1]);
}

inline Codes low_nibbles(const Codes& bytes) {
  return each_half(bytes,
                   [](__m256i x, int) { return _mm256_and_si256(x, _mm256_set1_epi8(0x0f)); });
}
inline Codes high_nibbles(const Codes& bytes) {
  return low_nibbles(each_half(bytes, [](__m256i x, int) { return _mm256_srli_epi16(x, 4); }));
}
inline Codes flip_high_bits(const Codes& bytes) {
  return each_half(bytes, [](__m256i x, int) {
    return _mm256_xor_si256(x, _mm256_set1_epi8(static_cast<char>(0x80)));
  });
}

/// Adds 16 where all bits of `select` are set in `bits`.
inline __m256i add_16_where(__m256i codes, __m256i bits, __m256i select) {
  const __m256i where = _mm256_cmpeq_epi8(_mm256_and_si256(bits, select), select);
  return _mm256_or_si256(codes, _mm256_and_si256(where, _mm256_set1_epi8(16)));
}

inline Codes with_fifth_bit(const Codes& codes, const Codes& bits, int bit) {
  const __m256i select = _mm256_set1_epi8(static_cast<char>(1 << bit));
  return each_half(codes, [&](__m256i x, int i) { return add_16_where(x, bits.half[i], select); });
}

inline Codes with_fifth_bits_of_words(const Codes& codes, const Codes& words, int half) {
  const int first = 0x02020202 * half;
  const int second = first + 0x01010101;
  const __m256i spread =
      _mm256_setr_epi32(first, first, second, second, first, first, second, second);
  const __m256i select = _mm256_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201U));
  return each_half(codes, [&](__m256i x, int i) {
    return add_16_where(x, _mm256_shuffle_epi8(words.half[i], spread), select);
  });
}

template <int kFrom>
inline Codes with_two_bits(const Codes& codes, const Codes& bits) {
  return each_half(codes, [&](__m256i x, int i) {
    const __m256i moved = kFrom < 4 ? _mm256_slli_epi16(bits.half[i], 4 - kFrom)
                                    : _mm256_srli_epi16(bits.half[i], kFrom - 4);
    return _mm256_or_si256(x, _mm256_and_si256(moved, _mm256_set1_epi8(0x30)));
  });
}

}  // namespace
}  // namespace headwise
