#include "ops/largest_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "headwise/error.h"
#include "ops/blocks/block_product.h"
#include "ops/sampling.h"
#include "tests/ops/stored_matrix.h"

namespace headwise {
namespace {

constexpr std::int64_t kRows = 4096;

Rows<const float> one_row(const std::vector<float>& x) {
  return {x.data(), 1, std::ssize(x), std::ssize(x)};
}

std::vector<float> all_products(const std::vector<float>& x, const StoredRows& w) {
  std::vector<float> y(static_cast<std::size_t>(w.rows));
  block_product(*block_isa(), one_row(x), w, {y.data(), 1, w.rows, w.rows}, Into::overwrite);
  return y;
}

class LargestRows : public ::testing::TestWithParam<BlockFormat> {
 protected:
  void SetUp() override {
    if (block_isa() == nullptr) GTEST_SKIP() << "this machine has no block products";
  }
};

TEST_P(LargestRows, AreThoseOfAllProducts) {
  std::mt19937 random(3);
  for (unsigned seed = 0; seed < 4; ++seed) {
    StoredMatrix w = random_matrix(GetParam(), kRows, seed % 2 == 0 ? 256 : 512, seed);
    const auto bytes = static_cast<std::size_t>(w.rows.row_bytes());
    // Rows that are equal, and rows that are nearly so.
    for (int i = 0; i < 300; ++i) {
      std::byte* to = &w.bytes[random() % kRows * bytes];
      std::memcpy(to, &w.bytes[random() % 40 * bytes], bytes);
      if (i % 2 == 0 && block_elements(GetParam()) > 1) to[bytes - 1] ^= std::byte{1};
    }
    LargestRow search(w.rows);
    for (int round = 0; round < 20; ++round) {
      std::vector<float> x = random_floats(w.rows.columns, random());
      if (round % 3 == 0) x[static_cast<std::size_t>(round)] = 300.0F;
      EXPECT_EQ(search.of(one_row(x)), argmax(all_products(x, w.rows)));
      EXPECT_GE(search.candidates(), 1);
    }
  }
}

TEST_P(LargestRows, OfPickedRowsHaveTheSameBits) {
  const StoredMatrix w = random_matrix(GetParam(), 37, 256, 5);
  const std::vector<float> x = random_floats(256, 6);
  const std::vector<float> all = all_products(x, w.rows);
  for (const std::vector<std::int32_t>& rows : std::vector<std::vector<std::int32_t>>{
           {}, {36}, {0, 5}, {9, 8, 7, 6, 5}, {1, 1, 36, 0, 20, 21, 22}}) {
    std::vector<float> picked(rows.size(), NAN);
    block_product_of_rows(*block_isa(), one_row(x), w.rows, rows, picked);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(picked[i], all[static_cast<std::size_t>(rows[i])]);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, LargestRows,
                         ::testing::Values(BlockFormat::f32, BlockFormat::f16, BlockFormat::bf16,
                                           BlockFormat::q8_0, BlockFormat::q6_k));

class LargestRowSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (block_isa() == nullptr) GTEST_SKIP() << "this machine has no block products";
  }
};

TEST_F(LargestRowSearch, SaysWhenThereIsNone) {
  StoredMatrix w = random_matrix(BlockFormat::q8_0, kRows, 64, 1);
  std::vector<float> x = random_floats(64, 2);
  x[3] = NAN;
  EXPECT_THROW(LargestRow(w.rows).of(one_row(x)), Error);
  x[3] = INFINITY;
  EXPECT_THROW(LargestRow(w.rows).of(one_row(x)), Error);
  x[3] = 1.0F;
  write_number(&w.bytes[100 * 68], BlockFormat::q8_0, NAN);
  EXPECT_THROW(LargestRow(w.rows).of(one_row(x)), Error) << "a row of the file is NaN";
}

TEST_F(LargestRowSearch, OfZerosIsTheFirst) {
  StoredMatrix w = random_matrix(BlockFormat::q8_0, kRows, 64, 1);
  EXPECT_EQ(LargestRow(w.rows).of(one_row(std::vector<float>(64))), 0);
  std::fill(w.bytes.begin(), w.bytes.end(), std::byte{0});
  EXPECT_EQ(LargestRow(w.rows).of(one_row(random_floats(64, 3))), 0);
}

TEST_F(LargestRowSearch, OfTinyNumbersIsExactToo) {
  const StoredMatrix w = random_matrix(BlockFormat::f32, kRows, 64, 1);
  for (const float scale : {1e-12F, 1e-22F, 1e-30F}) {
    std::vector<float> tiny(w.values);
    for (float& weight : tiny) weight *= scale;
    const StoredRows rows{BlockFormat::f32, reinterpret_cast<const std::byte*>(tiny.data()), kRows,
                          64};
    LargestRow search(rows);
    for (unsigned seed = 0; seed < 5; ++seed) {
      std::vector<float> x = random_floats(64, seed);
      if (seed > 2)
        for (float& number : x) number *= 1e-8F;
      EXPECT_EQ(search.of(one_row(x)), argmax(all_products(x, rows))) << scale;
    }
  }
}

/// Random numbers are far apart: hardly a row has to be read as it is stored.
TEST_F(LargestRowSearch, ReadsFewRows) {
  const StoredMatrix w = random_matrix(BlockFormat::q8_0, kRows, 512, 1);
  LargestRow search(w.rows);
  std::vector<float> x(512);
  dequantise(BlockFormat::q8_0, {w.rows.row(77), static_cast<std::size_t>(w.rows.row_bytes())}, x);
  EXPECT_EQ(search.of(one_row(x)), 77);
  EXPECT_LT(search.candidates(), kRows / 100);
  EXPECT_EQ(search.copy_bytes(), kRows * 512 / 32 * 18);
}

TEST_F(LargestRowSearch, PaysWhereFourBitsAreMuchLess) {
  const auto pays = [](BlockFormat format, std::int64_t rows, std::int64_t columns) {
    return LargestRow::pays({.format = format, .rows = rows, .columns = columns});
  };
  EXPECT_TRUE(pays(BlockFormat::q8_0, 262'144, 640));
  EXPECT_TRUE(pays(BlockFormat::q6_k, 128'256, 4096));
  EXPECT_FALSE(pays(BlockFormat::q4_1, 49'152, 576));
  EXPECT_FALSE(pays(BlockFormat::q5_0, 49'152, 576));
  EXPECT_FALSE(pays(BlockFormat::q8_0, 1000, 640)) << "so few rows cost nothing";
  EXPECT_FALSE(pays(BlockFormat::f32, 262'144, 641)) << "no whole blocks";
}

}  // namespace
}  // namespace headwise
