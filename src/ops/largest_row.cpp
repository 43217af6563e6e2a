#include "ops/largest_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/check.h"
#include "core/number_formats.h"
#include "ops/blocks/block_product.h"
#include "ops/sampling.h"

namespace headwise {
namespace {

constexpr BlockFormat kCopy = BlockFormat::q4_0;
constexpr int kBlock = 32;               // weights
constexpr std::int64_t kStretch = 1024;  // rows
constexpr int kLanes = 8;                // that compilers make vectors of
using Lanes = std::array<float, kLanes>;

float largest_of(const Lanes& lanes) { return *std::max_element(lanes.begin(), lanes.end()); }

/// Of a whole number of blocks; not less than it is, though squares of small numbers underflow.
float length_of(const float* x, std::int64_t count) {
  Lanes squares{};
  for (std::int64_t i = 0; i < count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) squares[lane] += x[i + lane] * x[i + lane];
  constexpr float kSmall = 1e-19F;
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0F)) +
         kSmall * std::sqrt(static_cast<float>(count));
}

/// 32 weights as a block of Q4_0: its largest one by magnitude has code 0.
void quantise_block(const float* weights, std::byte* block) {
  Lanes most{};
  Lanes least{};
  for (int i = 0; i < kBlock; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      const float weight = weights[i + lane];
      most[lane] = weight > most[lane] ? weight : most[lane];
      least[lane] = -weight > least[lane] ? -weight : least[lane];
    }
  const float above = largest_of(most);
  const float below = largest_of(least);
  const std::uint16_t step = float_to_f16((above > below ? -above : below) / 8.0F);
  const float exact = f16_to_float(step);
  const float inverse = exact != 0.0F ? 1.0F / exact : 0.0F;
  std::memcpy(block, &step, sizeof(step));
  std::array<int, kBlock> codes;
  for (int i = 0; i < kBlock; ++i) {
    float code = weights[i] * inverse + 8.5F;
    code = code > 0.0F ? code : 0.0F;  // NaN, too
    codes[i] = static_cast<int>(code < 15.0F ? code : 15.0F);
  }
  for (int i = 0; i < kBlock / 2; ++i)
    block[2 + i] = static_cast<std::byte>(codes[i] | codes[i + 16] << 4);
}

StoredRows copy_of(const StoredRows& w, const std::byte* blocks) {
  return {.format = kCopy, .data = blocks, .rows = w.rows, .columns = w.columns};
}

}  // namespace

bool LargestRow::pays(const StoredRows& w) {
  constexpr std::int64_t kManyRows = 4096;
  if (block_isa() == nullptr || w.rows < kManyRows || w.columns % kBlock != 0) return false;
  return copy_of(w, nullptr).row_bytes() * 10 <= w.row_bytes() * 7;
}

LargestRow::LargestRow(const StoredRows& w) : w_(w) {
  check(pays(w), "four bits of ", name(w.format), " rows save too little");
  blocks_.resize(static_cast<std::size_t>(copy_bytes()));
  off_by_.resize(static_cast<std::size_t>(w.rows));
#pragma omp parallel
  {
    std::vector<float> stored(static_cast<std::size_t>(w.columns));
    std::vector<float> copied(static_cast<std::size_t>(w.columns));
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < w.rows; ++i) copy_row(i, stored, copied);
  }
}

void LargestRow::copy_row(std::int64_t index, std::vector<float>& stored,
                          std::vector<float>& copied) {
  const StoredRows copy = copy_of(w_, blocks_.data());
  const auto bytes = static_cast<std::size_t>(copy.row_bytes());
  std::byte* blocks = blocks_.data() + index * copy.row_bytes();
  dequantise(w_.format, {w_.row(index), static_cast<std::size_t>(w_.row_bytes())}, stored);
  for (std::int64_t at = 0; at < w_.columns; at += kBlock)
    quantise_block(stored.data() + at, blocks + at / kBlock * block_bytes(kCopy));
  dequantise(kCopy, {blocks, bytes}, copied);
  for (std::size_t i = 0; i < stored.size(); ++i) copied[i] = stored[i] - copied[i];
  // What products round, and x's fixed point with them, is below the second and the third factor.
  constexpr float kRounding = 0x1p-12F;
  constexpr float kFixedPoint = 1.001F;
  off_by_[static_cast<std::size_t>(index)] = length_of(copied.data(), w_.columns) * kFixedPoint +
                                             length_of(stored.data(), w_.columns) * kRounding;
}

std::int64_t LargestRow::copy_bytes() const { return w_.rows * copy_of(w_, nullptr).row_bytes(); }

/// Of the products in four bits of some rows.
LargestRow::Stretch LargestRow::look_at(std::int64_t first, float length) const {
  const std::int64_t end = std::min(first + kStretch, w_.rows);
  Lanes largest;
  Lanes most;
  std::array<int, kLanes> unknown{};
  largest.fill(-INFINITY);
  most.fill(-INFINITY);
  const auto take = [&](std::int64_t row, int lane) {
    const float product = products_[static_cast<std::size_t>(row)];
    const float bound = product + off_by_[static_cast<std::size_t>(row)] * length;
    largest[lane] = product > largest[lane] ? product : largest[lane];
    most[lane] = bound > most[lane] ? bound : most[lane];
    unknown[lane] |= bound != bound ? 1 : 0;
  };
  std::int64_t row = first;
  for (; row + kLanes <= end; row += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) take(row + lane, lane);
  for (; row < end; ++row) take(row, 0);
  const bool known = std::count(unknown.begin(), unknown.end(), 0) == kLanes;
  return {largest_of(largest), known ? largest_of(most) : INFINITY};
}

std::int32_t LargestRow::likely_row() const {
  const auto best =
      std::max_element(stretches_.begin(), stretches_.end(),
                       [](const Stretch& a, const Stretch& b) { return a.largest < b.largest; });
  const std::int64_t first = (best - stretches_.begin()) * kStretch;
  const auto from = products_.begin() + first;
  const auto end = from + std::min(kStretch, w_.rows - first);
  const auto found = std::find(from, end, best->largest);
  return static_cast<std::int32_t>(first + (found == end ? 0 : found - from));
}

/// All rows whose products may be as large as this; NaN may.
void LargestRow::find_candidates(float least, float length) {
  candidates_.clear();
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    if (stretches_[i].most < least) continue;
    const auto first = static_cast<std::int64_t>(i) * kStretch;
    for (std::int64_t row = first; row < std::min(first + kStretch, w_.rows); ++row) {
      const auto at = static_cast<std::size_t>(row);
      if (!(products_[at] + off_by_[at] * length < least))
        candidates_.push_back(static_cast<std::int32_t>(row));
    }
  }
}

std::int32_t LargestRow::of(const Rows<const float>& x) {
  check(x.count == 1 && x.width == w_.columns, "x is [", x.count, ", ", x.width, "], w has ",
        w_.columns, " columns");
  const BlockIsa& isa = *block_isa();
  products_.resize(static_cast<std::size_t>(w_.rows));
  block_product(isa, x, copy_of(w_, blocks_.data()), {products_.data(), 1, w_.rows, w_.rows},
                Into::overwrite);
  const float length = length_of(x[0], x.width);
  stretches_.resize(static_cast<std::size_t>((w_.rows + kStretch - 1) / kStretch));
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < stretches_.size(); ++i)
    stretches_[i] = look_at(static_cast<std::int64_t>(i) * kStretch, length);
  candidates_.assign(1, likely_row());
  float least = 0.0F;  // of the largest product
  block_product_of_rows(isa, x, w_, candidates_, {&least, 1});
  find_candidates(least, length);
  products_.resize(candidates_.size());
  block_product_of_rows(isa, x, w_, candidates_, products_);
  return candidates_[static_cast<std::size_t>(argmax(products_))];
}

}  // namespace headwise
