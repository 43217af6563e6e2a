#include "ops/blocks/block_kernels.h"

#include <immintrin.h>

#include <cfloat>

#include "ops/blocks/isa_block_formats.h"

namespace headwise {
namespace {

/// Of a row of x with four rows of w: the four products.
__m128 lane_sums(__m512 x) {
  const __m512 pairs = _mm512_add_ps(x, _mm512_permute_ps(x, 0xb1));
  const __m512 fours = _mm512_add_ps(pairs, _mm512_permute_ps(pairs, 0x4e));
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(first, fours));
}

__m512i broadcast_16(const std::int8_t* bytes) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

/// A number of each lane, in all of it.
__m512 in_lanes(__m128 numbers) {
  const __m512i lane = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  return _mm512_permutexvar_ps(lane, _mm512_castps128_ps512(numbers));
}

/// Products of M rows of x with the codes of four rows of w.
template <int M>
class Sums {
 public:
  explicit Sums(const FixedPointRow (&x)[M]) : x_(x) {
    for (int m = 0; m < M; ++m) {
      products_[m] = _mm512_setzero_ps();
      minima_[m] = _mm_setzero_ps();
    }
  }

  /// 32 elements that share a scale.
  [[gnu::always_inline]] void add(std::int64_t group, const Codes& first, const Codes& second,
                                  __m128 scale, __m128 min) {
    const __m512 scales = in_lanes(scale);
    for (int m = 0; m < M; ++m) {
      const FixedPointRow& x = x_[m];
      const std::int8_t* high = x.high + group * 32;
      const std::int8_t* low = x.low + group * 32;
      __m512i upper = _mm512_dpbusd_epi32(_mm512_setzero_si512(), first.all, broadcast_16(high));
      __m512i lower = _mm512_dpbusd_epi32(_mm512_setzero_si512(), first.all, broadcast_16(low));
      upper = _mm512_dpbusd_epi32(upper, second.all, broadcast_16(high + 16));
      lower = _mm512_dpbusd_epi32(lower, second.all, broadcast_16(low + 16));
      add_integers(m, upper, lower, x.step[group], scales);
      minima_[m] =
          _mm_fmadd_ps(min, _mm_set1_ps(x.sum[2 * group] + x.sum[2 * group + 1]), minima_[m]);
    }
  }

  /// 16 elements that share a scale.
  [[gnu::always_inline]] void add(std::int64_t half, const Codes& codes, __m128 scale, __m128 min) {
    const __m512 scales = in_lanes(scale);
    for (int m = 0; m < M; ++m) {
      const FixedPointRow& x = x_[m];
      const __m512i zero = _mm512_setzero_si512();
      const __m512i upper = _mm512_dpbusd_epi32(zero, codes.all, broadcast_16(x.high + half * 16));
      const __m512i lower = _mm512_dpbusd_epi32(zero, codes.all, broadcast_16(x.low + half * 16));
      add_integers(m, upper, lower, x.step[half / 2], scales);
      minima_[m] = _mm_fmadd_ps(min, _mm_set1_ps(x.sum[half]), minima_[m]);
    }
  }

  __m128 total(int m) const { return _mm_add_ps(lane_sums(products_[m]), minima_[m]); }

 private:
  [[gnu::always_inline]] void add_integers(int m, __m512i upper, __m512i lower, float step,
                                           __m512 scales) {
    const __m512i number = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), lower);
    products_[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(number),
                                   _mm512_mul_ps(scales, _mm512_set1_ps(step)), products_[m]);
  }

  const FixedPointRow (&x_)[M];
  __m512 products_[M];
  __m128 minima_[M];
};

template <class Blocks, int M>
void multiply_blocks(const BlockWork& work) {
  FixedPointRow x[M];
  for (int m = 0; m < M; ++m) x[m] = work.fixed[m];
  Sums<M> sums(x);
  FourBlocks blocks{{work.w[0], work.w[1], work.w[2], work.w[3]}};
  const std::int64_t groups = work.columns / kFixedPointGroup;
  for (std::int64_t group = 0; group < groups; group += Blocks::kGroups) {
    Blocks::each(blocks, group, sums);
    blocks.advance(Blocks::kBytes);
  }
  for (int m = 0; m < M; ++m) _mm_storeu_ps(work.y[m], sums.total(m));
}

struct StoredF32 {
  static constexpr int kBytes = 4;
  static __m512 load(const std::byte* at, __mmask16 mask) {
    return _mm512_maskz_loadu_ps(mask, at);
  }
};
struct StoredF16 {
  static constexpr int kBytes = 2;
  static __m512 load(const std::byte* at, __mmask16 mask) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, at));
  }
};
struct StoredBf16 {
  static constexpr int kBytes = 2;
  static __m512 load(const std::byte* at, __mmask16 mask) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
};

template <class Stored, int M>
void multiply_numbers(const BlockWork& work) {
  constexpr int kWide = 16;
  __m512 sums[M][kBlockRows];
  for (auto& of_row : sums)
    for (__m512& sum : of_row) sum = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < work.columns; i += kWide) {
    const std::int64_t left = work.columns - i < kWide ? work.columns - i : kWide;
    const auto mask = static_cast<__mmask16>((1U << left) - 1);
    __m512 x[M];
    for (int m = 0; m < M; ++m) x[m] = _mm512_maskz_loadu_ps(mask, work.x[m] + i);
    for (int row = 0; row < kBlockRows; ++row) {
      const __m512 w = Stored::load(work.w[row] + i * Stored::kBytes, mask);
      for (int m = 0; m < M; ++m) sums[m][row] = _mm512_fmadd_ps(w, x[m], sums[m][row]);
    }
  }
  for (int m = 0; m < M; ++m)
    for (int row = 0; row < kBlockRows; ++row) work.y[m][row] = _mm512_reduce_add_ps(sums[m][row]);
}

template <class Blocks>
constexpr BlockKernels kOfBlocks{{multiply_blocks<Blocks, 1>, multiply_blocks<Blocks, 2>,
                                  multiply_blocks<Blocks, 3>, multiply_blocks<Blocks, 4>}};
template <class Stored>
constexpr BlockKernels kOfNumbers{{multiply_numbers<Stored, 1>, multiply_numbers<Stored, 2>,
                                   multiply_numbers<Stored, 3>, multiply_numbers<Stored, 4>}};

struct Kernels {
  static const BlockKernels& f32() { return kOfNumbers<StoredF32>; }
  static const BlockKernels& f16() { return kOfNumbers<StoredF16>; }
  static const BlockKernels& bf16() { return kOfNumbers<StoredBf16>; }
  template <class Blocks>
  static const BlockKernels& of() {
    return kOfBlocks<Blocks>;
  }
};

struct Step {
  float inverse;
  float step;
};

void convert_half(__m512 x, const Step& step, std::int8_t* high, std::int8_t* low, float* sum) {
  const __m512i number = _mm512_cvtps_epi32(_mm512_mul_ps(x, _mm512_set1_ps(step.inverse)));
  const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(128)), 8);
  const __m512i lower = _mm512_sub_epi32(number, _mm512_slli_epi32(upper, 8));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm512_cvtepi32_epi8(upper));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low), _mm512_cvtepi32_epi8(lower));
  *sum = step.step * static_cast<float>(_mm512_reduce_add_epi32(number));
}

void to_fixed_point(const float* x, std::int64_t width, const FixedPointRow& row) {
  constexpr int kHalf = kFixedPointGroup / 2;
  constexpr float kGreatest = 32639.0F;  // 256 * 127 + 127
  for (std::int64_t i = 0; i < width; i += kFixedPointGroup) {
    const __m512 first = _mm512_loadu_ps(x + i);
    const __m512 second = _mm512_loadu_ps(x + i + kHalf);
    const float greatest =
        _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(first), _mm512_abs_ps(second)));
    // 0 where all are finite, else NaN. Infinities of both signs must not meet in a sum.
    const __m512 zero = _mm512_setzero_ps();
    const float unfit =
        _mm512_reduce_add_ps(_mm512_fmadd_ps(first, zero, _mm512_mul_ps(second, zero)));
    const float wanted = greatest / kGreatest + unfit;
    const Step step{.inverse = wanted >= FLT_MIN ? 1.0F / wanted : 0.0F,
                    .step = wanted < FLT_MIN ? 0.0F : wanted};
    float* sum = row.sum + i / kHalf;
    convert_half(first, step, row.high + i, row.low + i, sum);
    convert_half(second, step, row.high + i + kHalf, row.low + i + kHalf, sum + 1);
    row.step[i / kFixedPointGroup] = step.step;
  }
}

}  // namespace

const BlockIsa& block_isa_avx512() {
  static constexpr BlockIsa isa{&to_fixed_point, &kernels_in<Kernels>};
  return isa;
}

}  // namespace headwise
