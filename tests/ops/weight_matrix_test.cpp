#include "ops/weight_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/number_formats.h"
#include "headwise/error.h"
#include "headwise/machine.h"
#include "ops/blocks/block_product.h"
#include "tests/ops/stored_matrix.h"

namespace headwise {
namespace {

/// How a product is computed: what it may be off by follows from that.
enum class Way { f32, bf16, fixed_point };

Way way_of(BlockFormat format, Maths maths, std::int64_t m) {
  if (maths == Maths::f32) return Way::f32;
  if (m > 8) return maths == Maths::bf16 ? Way::bf16 : Way::f32;
  return block_elements(format) > 1 ? Way::fixed_point : Way::f32;
}

/// The most that may be lost of a term x w of a sum. In f32: of sums of k, k 2^-24. In bf16 both
/// sides are rounded to within 2^-9. Fixed point is off by 1 / 65278 of the largest of 32.
double allowed(Way way, double x, double w, double largest, std::int64_t k) {
  const double of_sums = std::abs(x * w) * double(k) * 0x1p-24;
  if (way == Way::bf16) return of_sums + std::abs(x * w) * 2.01 * 0x1p-9;
  return of_sums + (way == Way::fixed_point ? std::abs(w) * largest / 65278.0 : 0.0);
}

/// Of each 32 numbers that of the largest size.
std::vector<double> largest_of_32(const float* x, std::int64_t count) {
  std::vector<double> largest(static_cast<std::size_t>((count + 31) / 32), 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    double& of_group = largest[static_cast<std::size_t>(i / 32)];
    of_group = std::max(of_group, std::abs(double{x[i]}));
  }
  return largest;
}

/// y = before + x w^T within what its way allows.
void expect_product(const StoredMatrix& w, const std::vector<float>& x, const std::vector<float>& y,
                    std::int64_t m, Way way, double before = 0.0) {
  const std::int64_t k = w.rows.columns;
  for (std::int64_t i = 0; i < m; ++i) {
    const std::vector<double> largest = largest_of_32(&x[std::size_t(i * k)], k);
    for (std::int64_t j = 0; j < w.rows.rows; ++j) {
      double exact = before;
      double bound = 1e-6 * before;
      for (std::int64_t c = 0; c < k; ++c) {
        const double of_x = x[std::size_t(i * k + c)];
        const double of_w = w.values[std::size_t(j * k + c)];
        exact += of_x * of_w;
        bound += allowed(way, of_x, of_w, largest[std::size_t(c / 32)], k);
      }
      EXPECT_NEAR(y[std::size_t(i * w.rows.rows + j)], exact, bound)
          << m << " rows, " << w.rows.rows << " weights";
    }
  }
}

constexpr BlockFormat kFormats[] = {BlockFormat::f32,  BlockFormat::f16,  BlockFormat::bf16,
                                    BlockFormat::q4_0, BlockFormat::q4_1, BlockFormat::q5_0,
                                    BlockFormat::q5_1, BlockFormat::q8_0, BlockFormat::q4_k,
                                    BlockFormat::q5_k, BlockFormat::q6_k};

struct Case {
  BlockFormat format;
  Maths maths;
};

class WeightProducts : public testing::TestWithParam<Case> {};

TEST_P(WeightProducts, EqualThoseInDouble) {
  const auto [format, maths] = GetParam();
  if (!can_compute(maths)) GTEST_SKIP() << "not on this machine";
  for (const std::int64_t m : {1, 2, 3, 4, 5, 8, 9, 33, 53}) {
    for (const std::int64_t n : {1, 6, 64}) {
      const std::int64_t k = block_elements(format) == 1 ? 49 : m % 2 == 0 ? 256 : 768;
      const StoredMatrix w = random_matrix(format, n, k, static_cast<unsigned>(m * 100 + n));
      const std::vector<float> x = random_floats(m * k, 7);
      std::vector<float> y(static_cast<std::size_t>(m * n), NAN);
      WeightMatrix matrix({w.rows}, maths);
      if (n == 6) matrix.prepare();
      const TensorView input = dense(x.data(), DType::f32, {m, k});
      const MutableTensorView output = dense(y.data(), DType::f32, {m, n});
      const Way way = way_of(format, maths, m);
      matrix.multiply(input, output);
      expect_product(w, x, y, m, way);
      std::fill(y.begin(), y.end(), 3.0F);
      matrix.multiply(input, output, Into::add);
      expect_product(w, x, y, m, way, 3.0);
    }
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const BlockFormat format : kFormats)
    for (const Maths maths : {Maths::f32, Maths::blocks, Maths::bf16})
      cases.push_back({format, maths});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& tested) {
  return concat(name(tested.param.format), "_", name_of(tested.param.maths));
}

INSTANTIATE_TEST_SUITE_P(Formats, WeightProducts, testing::ValuesIn(all_cases()), case_name);

std::vector<const BlockIsa*> block_isas() {
  std::vector<const BlockIsa*> all;
  if (this_machine().cpu.avx2) all.push_back(&block_isa_avx2());
  if (this_machine().cpu.avx512_bf16) all.push_back(&block_isa_avx512());
  return all;
}

// The machine's fastest is tested above, too; here slower ones have their turn.
TEST(BlockProducts, OfEveryInstructionSetEqualThoseInDouble) {
  for (const BlockIsa* isa : block_isas())
    for (const BlockFormat format : kFormats)
      for (const std::int64_t m : {1, 2, 3, 4, 5}) {
        SCOPED_TRACE(name(format));
        const std::int64_t k = block_elements(format) == 1 ? 49 : 512;
        const StoredMatrix w = random_matrix(format, 7, k, static_cast<unsigned>(m));
        std::vector<float> x = random_floats(m * k, 7);
        x[static_cast<std::size_t>(k / 2)] = 500.0F;  // what shares its step is rounded more
        std::vector<float> y(static_cast<std::size_t>(m * 7), NAN);
        block_product(*isa, rows_of(dense(std::as_const(x).data(), DType::f32, {m, k}), "x"),
                      w.rows, rows_of(dense(y.data(), DType::f32, {m, 7}), "y"), Into::overwrite);
        expect_product(w, x, y, m, way_of(format, Maths::blocks, m));
      }
}

TEST(BlockProducts, OfWhatIsNoNumberAreNone) {
  const StoredMatrix w = random_matrix(BlockFormat::q8_0, 4, 64, 1);
  for (const BlockIsa* isa : block_isas())
    for (const float number : {0.0F, 1e-42F, NAN, INFINITY, -INFINITY}) {
      std::vector<float> x(64, 0.0F);
      x[40] = number;
      std::vector<float> y(4, 9.0F);
      block_product(*isa, {x.data(), 1, 64, 64}, w.rows, {y.data(), 1, 4, 4}, Into::overwrite);
      for (const float of_row : y)
        EXPECT_TRUE(std::isfinite(number) ? of_row == 0.0F : std::isnan(of_row)) << number;
    }
}

TEST(WeightMatrices, PartsOfSeveralFormatsLieBelowOneAnother) {
  for (const Maths maths : {Maths::f32, Maths::blocks, Maths::bf16}) {
    if (!can_compute(maths)) continue;
    const StoredMatrix top = random_matrix(BlockFormat::q5_0, 6, 64, 1);
    const StoredMatrix bottom = random_matrix(BlockFormat::q8_0, 3, 64, 2);
    WeightMatrix both({top.rows, bottom.rows}, maths);
    for (const std::int64_t m : {1, 12}) {
      const std::vector<float> x = random_floats(m * 64, 3);
      std::vector<float> y(static_cast<std::size_t>(m * 9));
      both.multiply(dense(x.data(), DType::f32, {m, 64}), dense(y.data(), DType::f32, {m, 9}));
      std::vector<float> upper, lower;
      for (std::int64_t i = 0; i < m; ++i) {
        upper.insert(upper.end(), y.begin() + i * 9, y.begin() + i * 9 + 6);
        lower.insert(lower.end(), y.begin() + i * 9 + 6, y.begin() + i * 9 + 9);
      }
      expect_product(top, x, upper, m, way_of(BlockFormat::q5_0, maths, m));
      expect_product(bottom, x, lower, m, way_of(BlockFormat::q8_0, maths, m));
    }
    std::vector<float> row(64);
    both.row(7, row.data());
    EXPECT_EQ(row, std::vector<float>(bottom.values.begin() + 64, bottom.values.begin() + 128));
  }
}

// Many rows are cut in pieces.
TEST(WeightMatrices, TakeAnyNumberOfRows) {
  if (!can_compute(Maths::bf16)) GTEST_SKIP() << "not on this machine";
  constexpr std::int64_t n = 24, k = 160;
  const StoredMatrix w = random_matrix(BlockFormat::q8_0, n, k, 1);
  WeightMatrix matrix({w.rows}, Maths::bf16);
  matrix.prepare();
  for (const std::int64_t m : {32, 61, 64, 424, 512, 513, 1061}) {
    const std::vector<float> x = random_floats(m * k, 7);
    std::vector<float> y(static_cast<std::size_t>(m * n), 3.0F);
    const TensorView input = dense(x.data(), DType::f32, {m, k});
    matrix.multiply(input, dense(y.data(), DType::f32, {m, n}), Into::add);
    expect_product(w, x, y, m, Way::bf16, 3.0);
    matrix.multiply(input, dense(y.data(), DType::f32, {m, n}));
    expect_product(w, x, y, m, Way::bf16);
  }
}

// Numbers of very different size in one row, as trained models have them.
TEST(WeightMatrices, OutliersCostOnlyTheirNeighbours) {
  if (!can_compute(Maths::blocks)) GTEST_SKIP() << "not on this machine";
  const StoredMatrix w = random_matrix(BlockFormat::q4_1, 16, 576, 1);
  std::vector<float> x = random_floats(576, 2);
  x[100] = 3000.0F;
  x[400] = 1e-20F;
  std::vector<float> y(16);
  WeightMatrix matrix({w.rows}, Maths::blocks);
  matrix.multiply(dense(x.data(), DType::f32, {1, 576}), dense(y.data(), DType::f32, {1, 16}));
  expect_product(w, x, y, 1, Way::fixed_point);
}

TEST(WeightMatrices, ZerosTinyNumbersAndWhatIsNoNumber) {
  if (!can_compute(Maths::blocks)) GTEST_SKIP() << "not on this machine";
  const StoredMatrix w = random_matrix(BlockFormat::q8_0, 4, 64, 1);
  WeightMatrix matrix({w.rows}, Maths::blocks);
  const auto product = [&](float number) {
    std::vector<float> x(64, 0.0F);
    x[40] = number;
    std::vector<float> y(4, 9.0F);
    matrix.multiply(dense(x.data(), DType::f32, {1, 64}), dense(y.data(), DType::f32, {1, 4}));
    return y;
  };
  EXPECT_EQ(product(0.0F), std::vector<float>(4, 0.0F));
  EXPECT_EQ(product(1e-42F), std::vector<float>(4, 0.0F));
  for (const float bad : {NAN, INFINITY, -INFINITY})
    for (const float y : product(bad)) EXPECT_TRUE(std::isnan(y)) << bad;
}

TEST(WeightMatrices, ErrorsNameTheSizes) {
  const StoredMatrix w = random_matrix(BlockFormat::f32, 4, 8, 1);
  const StoredMatrix other = random_matrix(BlockFormat::f32, 4, 9, 1);
  EXPECT_THROW(WeightMatrix({}, Maths::f32), Error);
  EXPECT_THROW(WeightMatrix({w.rows, other.rows}, Maths::f32), Error);
  std::vector<float> data(512);
  const auto view = [&](std::int64_t rows, std::int64_t columns) {
    return dense(data.data(), DType::f32, {rows, columns});
  };
  for (const Maths maths : {Maths::f32, Maths::blocks, Maths::bf16}) {
    if (!can_compute(maths)) continue;
    WeightMatrix matrix({w.rows}, maths);
    for (const std::int64_t m : {1, 20}) {
      EXPECT_THROW(matrix.multiply(view(m, 7), view(m, 4)), Error);
      EXPECT_THROW(matrix.multiply(view(m, 8), view(m, 5)), Error);
      EXPECT_THROW(matrix.multiply(view(m, 8), view(m + 1, 4)), Error);
    }
  }
}

}  // namespace
}  // namespace headwise
