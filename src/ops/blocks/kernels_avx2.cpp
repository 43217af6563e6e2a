#include <immintrin.h>

#include <cfloat>

#include "ops/blocks/block_kernels.h"
#include "ops/blocks/isa_block_formats.h"

namespace headwise {
namespace {

float sum_of(__m256 x) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

int sum_of(__m256i x) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

/// 16 numbers in fixed point, whole.
__m256i whole(const FixedPointRow& x, std::int64_t at) {
  const auto widened = [](const std::int8_t* bytes) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  };
  return _mm256_add_epi16(_mm256_slli_epi16(widened(x.high + at), 8), widened(x.low + at));
}

/// Products of M rows of x with the codes of four rows of w. Sums of four products of a code and a
/// number, below 2^25, are integers; then they are f32.
template <int M>
class Sums {
 public:
  explicit Sums(const FixedPointRow (&x)[M]) : x_(x) {
    for (int m = 0; m < M; ++m) {
      for (__m256& products : products_[m]) products = _mm256_setzero_ps();
      minima_[m] = _mm_setzero_ps();
    }
  }

  /// 32 elements that share a scale.
  [[gnu::always_inline]] void add(std::int64_t group, const Codes& first, const Codes& second,
                                  __m128 scale, __m128 min) {
    for (int m = 0; m < M; ++m) {
      const FixedPointRow& x = x_[m];
      const __m256i numbers[2] = {whole(x, group * 32), whole(x, group * 32 + 16)};
      const Scales scales = scales_of(scale, x.step[group]);
      for (int row = 0; row < kBlockRows; ++row) {
        const __m256i sums =
            _mm256_add_epi32(_mm256_madd_epi16(_mm256_cvtepu8_epi16(first.row(row)), numbers[0]),
                             _mm256_madd_epi16(_mm256_cvtepu8_epi16(second.row(row)), numbers[1]));
        add_integers(m, row, sums, scales);
      }
      minima_[m] =
          _mm_fmadd_ps(min, _mm_set1_ps(x.sum[2 * group] + x.sum[2 * group + 1]), minima_[m]);
    }
  }

  /// 16 elements that share a scale.
  [[gnu::always_inline]] void add(std::int64_t half, const Codes& codes, __m128 scale, __m128 min) {
    for (int m = 0; m < M; ++m) {
      const FixedPointRow& x = x_[m];
      const __m256i numbers = whole(x, half * 16);
      const Scales scales = scales_of(scale, x.step[half / 2]);
      for (int row = 0; row < kBlockRows; ++row)
        add_integers(m, row, _mm256_madd_epi16(_mm256_cvtepu8_epi16(codes.row(row)), numbers),
                     scales);
      minima_[m] = _mm_fmadd_ps(min, _mm_set1_ps(x.sum[half]), minima_[m]);
    }
  }

  void store(int m, float (&y)[kBlockRows]) const {
    _mm_storeu_ps(y, minima_[m]);
    for (int row = 0; row < kBlockRows; ++row) y[row] += sum_of(products_[m][row]);
  }

 private:
  struct Scales {
    float of[kBlockRows];
  };

  static Scales scales_of(__m128 scale, float step) {
    Scales scales;
    _mm_storeu_ps(scales.of, _mm_mul_ps(scale, _mm_set1_ps(step)));
    return scales;
  }

  [[gnu::always_inline]] void add_integers(int m, int row, __m256i sums, const Scales& scales) {
    products_[m][row] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_set1_ps(scales.of[row]),
                                        products_[m][row]);
  }

  const FixedPointRow (&x_)[M];
  __m256 products_[M][kBlockRows];
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
  for (int m = 0; m < M; ++m) sums.store(m, work.y[m]);
}

/// -1 for the first `count` of eight.
__m256i first_of_eight(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Up to eight numbers of 16 bits; the others are zeros.
__m256i load_halves(const std::byte* at, std::int64_t count) {
  std::uint16_t numbers[8] = {};
  __builtin_memcpy(numbers, at, static_cast<std::size_t>(2 * count));
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers)));
}

struct StoredF32 {
  static constexpr int kBytes = 4;
  static __m256 load(const std::byte* at, std::int64_t count) {
    return _mm256_maskload_ps(reinterpret_cast<const float*>(at), first_of_eight(count));
  }
};
struct StoredF16 {
  static constexpr int kBytes = 2;
  static __m256 load(const std::byte* at, std::int64_t count) {
    if (count == 8) return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    const __m256i wide = load_halves(at, count);
    return _mm256_cvtph_ps(
        _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
  }
};
struct StoredBf16 {
  static constexpr int kBytes = 2;
  static __m256 load(const std::byte* at, std::int64_t count) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(load_halves(at, count), 16));
  }
};

template <class Stored, int M>
void multiply_numbers(const BlockWork& work) {
  constexpr std::int64_t kWide = 8;
  __m256 sums[M][kBlockRows];
  for (auto& of_row : sums)
    for (__m256& sum : of_row) sum = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < work.columns; i += kWide) {
    const std::int64_t count = work.columns - i < kWide ? work.columns - i : kWide;
    __m256 x[M];
    for (int m = 0; m < M; ++m) x[m] = _mm256_maskload_ps(work.x[m] + i, first_of_eight(count));
    for (int row = 0; row < kBlockRows; ++row) {
      const __m256 w = Stored::load(work.w[row] + i * Stored::kBytes, count);
      for (int m = 0; m < M; ++m) sums[m][row] = _mm256_fmadd_ps(w, x[m], sums[m][row]);
    }
  }
  for (int m = 0; m < M; ++m)
    for (int row = 0; row < kBlockRows; ++row) work.y[m][row] = sum_of(sums[m][row]);
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

/// Eight numbers to fixed point; returns their integers' sum.
int convert_eight(__m256 x, float inverse, std::int8_t* high, std::int8_t* low) {
  const __m256i number = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(inverse)));
  const __m256i upper = _mm256_srai_epi32(_mm256_add_epi32(number, _mm256_set1_epi32(128)), 8);
  const __m256i lower = _mm256_sub_epi32(number, _mm256_slli_epi32(upper, 8));
  const auto store = [](std::int8_t* to, __m256i wide) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
  };
  store(high, upper);
  store(low, lower);
  return sum_of(number);
}

float greatest_of(__m256 x) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

void to_fixed_point(const float* x, std::int64_t width, const FixedPointRow& row) {
  constexpr float kGreatest = 32639.0F;  // 256 * 127 + 127
  for (std::int64_t i = 0; i < width; i += kFixedPointGroup) {
    __m256 greatest = _mm256_setzero_ps();
    __m256 unfit = _mm256_setzero_ps();  // 0 where all are finite, else NaN
    for (int j = 0; j < kFixedPointGroup; j += 8) {
      const __m256 eight = _mm256_loadu_ps(x + i + j);
      greatest = _mm256_max_ps(greatest, _mm256_andnot_ps(_mm256_set1_ps(-0.0F), eight));
      unfit = _mm256_fmadd_ps(eight, _mm256_setzero_ps(), unfit);
    }
    const float wanted = greatest_of(greatest) / kGreatest + sum_of(unfit);
    const float inverse = wanted >= FLT_MIN ? 1.0F / wanted : 0.0F;
    const float step = wanted < FLT_MIN ? 0.0F : wanted;
    row.step[i / kFixedPointGroup] = step;
    for (int j = 0; j < kFixedPointGroup; j += 16) {
      const int sum =
          convert_eight(_mm256_loadu_ps(x + i + j), inverse, row.high + i + j, row.low + i + j) +
          convert_eight(_mm256_loadu_ps(x + i + j + 8), inverse, row.high + i + j + 8,
                        row.low + i + j + 8);
      row.sum[(i + j) / 16] = step * static_cast<float>(sum);
    }
  }
}

}  // namespace

const BlockIsa& block_isa_avx2() {
  static constexpr BlockIsa isa{&to_fixed_point, &kernels_in<Kernels>};
  return isa;
}

}  // namespace headwise
