#include "bench/random_fill.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "bench/random_hash.h"
#include "core/check.h"
#include "core/number_formats.h"

namespace headwise::bench {
namespace {

constexpr std::int64_t kWorthThreads = 1 << 16;  // elements

template <class T>
void fill_from(const T* table, T* data, std::int64_t first, std::int64_t count,
               std::uint64_t seed) {
  const std::uint64_t start = splitmix(seed);
  const std::int64_t end = first + count;
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (std::int64_t block = first / 4; block < (end + 3) / 4; ++block) {
    const std::uint64_t bits = random_bits(start, block);
    const std::int64_t from = std::max(first, block * 4);
    const std::int64_t to = std::min(end, block * 4 + 4);
    for (std::int64_t i = from; i < to; ++i)
      data[i - first] = table[(bits >> (16 * (i % 4))) & 0xffffU];
  }
}

template <class T, T (*convert)(float)>
RandomTable normals() {
  static const std::vector<T> table = [] {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    std::vector<T> entries(RandomTable::kEntries);
    for (T& entry : entries) entry = convert(normal(random));
    return entries;
  }();
  return {table.data(), sizeof(T)};
}

template <class T, T (*convert)(float), float (*value)(T)>
RandomTable outliers() {
  static const std::vector<T> table = [] {
    const auto* plain = static_cast<const T*>(normals<T, convert>().entries);
    std::vector<T> entries(plain, plain + RandomTable::kEntries);
    for (T& entry : entries) entry = convert(kOutlierFactor * value(entry));
    return entries;
  }();
  return {table.data(), sizeof(T)};
}

float to_float(float value) { return value; }

std::int8_t to_int8(float value) {
  return static_cast<std::int8_t>(std::lrint(std::clamp(value * kInt8Units, -127.0F, 127.0F)));
}

}  // namespace

RandomTable normal_table(DType type) {
  switch (type) {
    case DType::f16:
      return normals<std::uint16_t, float_to_f16>();
    case DType::bf16:
      return normals<std::uint16_t, float_to_bf16>();
    case DType::f8e4m3:
      return normals<std::uint8_t, float_to_e4m3>();
    case DType::i8:
      return normals<std::int8_t, to_int8>();
    case DType::f32:
      break;
  }
  return normals<float, to_float>();
}

RandomTable outlier_table(DType type) {
  switch (type) {
    case DType::f32:
      return outliers<float, to_float, to_float>();
    case DType::f16:
      return outliers<std::uint16_t, float_to_f16, f16_to_float>();
    case DType::bf16:
      return outliers<std::uint16_t, float_to_bf16, bf16_to_float>();
    case DType::f8e4m3:
      return outliers<std::uint8_t, float_to_e4m3, e4m3_to_float>();
    case DType::i8:
      break;
  }
  throw Error(ErrorCode::invalid_input, concat("q is never ", name_of(type)));
}

RandomTable int8_scale_table() {
  static const std::vector<float> table = [] {
    std::vector<float> scales(RandomTable::kEntries);
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] =
          (0.5F + static_cast<float>(i) / static_cast<float>(RandomTable::kEntries)) / kInt8Units;
    return scales;
  }();
  return {table.data(), sizeof(float)};
}

void fill_random(void* data, const RandomTable& table, std::int64_t first, std::int64_t count,
                 std::uint64_t seed) {
  if (count == 0) return;
  const auto fill = [&]<class T>(T* to) {
    fill_from(static_cast<const T*>(table.entries), to, first, count, seed);
  };
  // Bits are moved, whatever they stand for.
  if (table.element == 1) return fill(static_cast<std::uint8_t*>(data));
  if (table.element == 2) return fill(static_cast<std::uint16_t*>(data));
  fill(static_cast<std::uint32_t*>(data));
}

bool OutlierRows::has(std::int64_t row, std::uint64_t seed) const {
  return every > 0 && is_outlier(splitmix(seed), row, every);
}

void fill_outliers(void* data, const RandomTable& table, const OutlierRows& outliers,
                   std::uint64_t seed) {
  const std::int64_t width = outliers.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < outliers.rows; ++row)
    if (outliers.has(row, seed))
      fill_random(static_cast<std::byte*>(data) + row * width * table.element, table, row * width,
                  width, seed);
}

void fill_normal(Buffer& buffer, DType type, std::int64_t count, std::uint64_t seed) {
  fill_random(buffer.data(), normal_table(type), 0, count, seed);
}

}  // namespace headwise::bench
