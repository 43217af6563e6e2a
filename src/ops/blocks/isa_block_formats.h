#pragma once

// How the quantised formats come apart for a product: four rows of a matrix at a time, 16 codes of
// each (isa_codes_avx512.h, isa_codes_avx2.h). A format hands stretches of codes to `sums`, which
// multiplies them: add(group, codes of elements 0-15, of 16-31, scale, min) for 32 elements that
// share a scale, add(half, codes, scale, min) for 16. The weight is scale * code + min, with codes
// from 0. Layouts: ggml's block_q4_0 and its like. For files that are compiled for AVX-512 or AVX2.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "ops/blocks/block_kernels.h"
#ifdef __AVX512F__
#include "ops/blocks/isa_codes_avx512.h"
#else
#include "ops/blocks/isa_codes_avx2.h"
#endif

namespace headwise {
namespace {

/// The same block of four rows.
struct FourBlocks {
  const std::byte* row[4];

  void advance(std::int64_t bytes) {
    for (const std::byte*& block : row) block += bytes;
  }
};

inline __m128i load_4(const std::byte* bytes) { return _mm_loadu_si32(bytes); }

inline Codes four_16(const FourBlocks& b, int offset) { return four_rows(b.row, offset); }

/// An f16 of each row, as f32.
inline __m128 four_halves(const FourBlocks& b, int offset) {
  __m128i all = _mm_setzero_si128();
  all = _mm_insert_epi16(all, *reinterpret_cast<const std::int16_t*>(b.row[0] + offset), 0);
  all = _mm_insert_epi16(all, *reinterpret_cast<const std::int16_t*>(b.row[1] + offset), 1);
  all = _mm_insert_epi16(all, *reinterpret_cast<const std::int16_t*>(b.row[2] + offset), 2);
  all = _mm_insert_epi16(all, *reinterpret_cast<const std::int16_t*>(b.row[3] + offset), 3);
  return _mm_cvtph_ps(all);
}

struct ScaleAndMin {
  __m128 scale;
  __m128 min;
};

/// Two neighbouring f16 of each row, as f32: a scale and a minimum.
inline ScaleAndMin four_pairs(const FourBlocks& b, int offset) {
  const __m128i low = _mm_unpacklo_epi16(load_4(b.row[0] + offset), load_4(b.row[1] + offset));
  const __m128i high = _mm_unpacklo_epi16(load_4(b.row[2] + offset), load_4(b.row[3] + offset));
  const __m256 both = _mm256_cvtph_ps(_mm_unpacklo_epi32(low, high));
  return {_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1)};
}

inline __m128 times(__m128 x, float factor) { return _mm_mul_ps(x, _mm_set1_ps(factor)); }

struct BlocksQ4_0 {
  static constexpr int kBytes = 18;
  static constexpr int kGroups = 1;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const Codes codes = four_16(b, 2);
    const __m128 scale = four_halves(b, 0);
    sums.add(group, low_nibbles(codes), high_nibbles(codes), scale, times(scale, -8.0F));
  }
};

struct BlocksQ4_1 {
  static constexpr int kBytes = 20;
  static constexpr int kGroups = 1;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const Codes codes = four_16(b, 4);
    const ScaleAndMin s = four_pairs(b, 0);
    sums.add(group, low_nibbles(codes), high_nibbles(codes), s.scale, s.min);
  }
};

/// The fifth bits of 32 codes, `offset` bytes into the block, and their other four behind them.
struct FiveBits {
  Codes first;
  Codes second;
};

inline FiveBits five_bits(const FourBlocks& b, int offset) {
  const Codes words = four_16(b, offset);  // the bits first, then some codes
  const Codes codes = four_16(b, offset + 4);
  return {with_fifth_bits_of_words(low_nibbles(codes), words, 0),
          with_fifth_bits_of_words(high_nibbles(codes), words, 1)};
}

struct BlocksQ5_0 {
  static constexpr int kBytes = 22;
  static constexpr int kGroups = 1;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const FiveBits codes = five_bits(b, 2);
    const __m128 scale = four_halves(b, 0);
    sums.add(group, codes.first, codes.second, scale, times(scale, -16.0F));
  }
};

struct BlocksQ5_1 {
  static constexpr int kBytes = 24;
  static constexpr int kGroups = 1;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const FiveBits codes = five_bits(b, 4);
    const ScaleAndMin s = four_pairs(b, 0);
    sums.add(group, codes.first, codes.second, s.scale, s.min);
  }
};

struct BlocksQ8_0 {
  static constexpr int kBytes = 34;
  static constexpr int kGroups = 1;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const __m128 scale = four_halves(b, 0);
    sums.add(group, flip_high_bits(four_16(b, 2)), flip_high_bits(four_16(b, 18)), scale,
             times(scale, -128.0F));
  }
};

/// The eight 6-bit scales and minima of a Q4_K or Q5_K block, packed in 12 bytes, of four rows.
class SixBitScales {
 public:
  SixBitScales(const FourBlocks& b, int offset) {
    const __m128i low6 = _mm_set1_epi8(0x3f);
    const __m128i low4 = _mm_set1_epi8(0x0f);
    const __m128i low2 = _mm_set1_epi8(0x03);
    const __m128i first = words(b, offset);
    const __m128i second = words(b, offset + 4);
    const __m128i third = words(b, offset + 8);
    const auto upper = [&](__m128i bytes) {  // the two highest bits, as bits 4 and 5
      return _mm_slli_epi16(_mm_and_si128(_mm_srli_epi16(bytes, 6), low2), 4);
    };
    scale_[0] = _mm_and_si128(first, low6);
    min_[0] = _mm_and_si128(second, low6);
    scale_[1] = _mm_or_si128(_mm_and_si128(third, low4), upper(first));
    min_[1] = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(third, 4), low4), upper(second));
    const ScaleAndMin super = four_pairs(b, 0);
    super_scale_ = super.scale;
    super_min_ = _mm_sub_ps(_mm_setzero_ps(), super.min);  // minima are subtracted
  }

  __m128 scale(int group) const { return _mm_mul_ps(super_scale_, number(scale_, group)); }
  __m128 min(int group) const { return _mm_mul_ps(super_min_, number(min_, group)); }

 private:
  static __m128i words(const FourBlocks& b, int offset) {
    return _mm_unpacklo_epi64(
        _mm_unpacklo_epi32(load_4(b.row[0] + offset), load_4(b.row[1] + offset)),
        _mm_unpacklo_epi32(load_4(b.row[2] + offset), load_4(b.row[3] + offset)));
  }
  static __m128 number(const __m128i (&packed)[2], int group) {
    const __m128i shifted = _mm_srli_epi32(packed[group / 4], 8 * (group % 4));
    return _mm_cvtepi32_ps(_mm_and_si128(shifted, _mm_set1_epi32(0xff)));
  }

  __m128i scale_[2];  // groups 0-3 and 4-7: a byte a group, a word a row
  __m128i min_[2];
  __m128 super_scale_;
  __m128 super_min_;
};

struct BlocksQ4_K {
  static constexpr int kBytes = 144;
  static constexpr int kGroups = 8;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const SixBitScales scales(b, 4);
#pragma GCC unroll 4
    for (int i = 0; i < kGroups; i += 2) {
      const Codes first = four_16(b, 16 + 16 * i);
      const Codes second = four_16(b, 32 + 16 * i);
      sums.add(group + i, low_nibbles(first), low_nibbles(second), scales.scale(i), scales.min(i));
      sums.add(group + i + 1, high_nibbles(first), high_nibbles(second), scales.scale(i + 1),
               scales.min(i + 1));
    }
  }
};

struct BlocksQ5_K {
  static constexpr int kBytes = 176;
  static constexpr int kGroups = 8;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const SixBitScales scales(b, 4);
    const Codes bits[2] = {four_16(b, 16), four_16(b, 32)};
    const auto fifth = [&](const Codes& codes, int half, int i) {
      return with_fifth_bit(codes, bits[half], i);
    };
#pragma GCC unroll 4
    for (int i = 0; i < kGroups; i += 2) {
      const Codes first = four_16(b, 48 + 16 * i);
      const Codes second = four_16(b, 64 + 16 * i);
      sums.add(group + i, fifth(low_nibbles(first), 0, i), fifth(low_nibbles(second), 1, i),
               scales.scale(i), scales.min(i));
      sums.add(group + i + 1, fifth(high_nibbles(first), 0, i + 1),
               fifth(high_nibbles(second), 1, i + 1), scales.scale(i + 1), scales.min(i + 1));
    }
  }
};

struct BlocksQ6_K {
  static constexpr int kBytes = 210;
  static constexpr int kGroups = 8;
  template <class Sums>
  static void each(const FourBlocks& b, std::int64_t group, Sums& sums) {
    const __m128 super = four_halves(b, 208);
    std::int8_t scales[4][16];
    store_rows(four_16(b, 192), scales);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 2
      for (int part = 0; part < 2; ++part) {  // elements 16 part and on of each 32
        const Codes first = four_16(b, 64 * half + 16 * part);
        const Codes second = four_16(b, 64 * half + 32 + 16 * part);
        const Codes bits = four_16(b, 128 + 32 * half + 16 * part);
        const Codes codes[4] = {with_two_bits<0>(low_nibbles(first), bits),
                                with_two_bits<2>(low_nibbles(second), bits),
                                with_two_bits<4>(high_nibbles(first), bits),
                                with_two_bits<6>(high_nibbles(second), bits)};
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const int stretch = 8 * half + 2 * i + part;
          const __m128 scale = _mm_mul_ps(
              super, _mm_cvtepi32_ps(_mm_setr_epi32(scales[0][stretch], scales[1][stretch],
                                                    scales[2][stretch], scales[3][stretch])));
          sums.add(group * 2 + stretch, codes[i], scale, times(scale, -32.0F));
        }
      }
    }
  }
};

/// What Table has for a format: of<Blocks>(), or f32(), f16() and bf16().
template <class Table>
const BlockKernels& kernels_in(BlockFormat format) {
  switch (format) {
    case BlockFormat::f32:
      return Table::f32();
    case BlockFormat::f16:
      return Table::f16();
    case BlockFormat::bf16:
      return Table::bf16();
    case BlockFormat::q4_0:
      return Table::template of<BlocksQ4_0>();
    case BlockFormat::q4_1:
      return Table::template of<BlocksQ4_1>();
    case BlockFormat::q5_0:
      return Table::template of<BlocksQ5_0>();
    case BlockFormat::q5_1:
      return Table::template of<BlocksQ5_1>();
    case BlockFormat::q8_0:
      return Table::template of<BlocksQ8_0>();
    case BlockFormat::q4_k:
      return Table::template of<BlocksQ4_K>();
    case BlockFormat::q5_k:
      return Table::template of<BlocksQ5_K>();
    case BlockFormat::q6_k:
      return Table::template of<BlocksQ6_K>();
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace headwise
