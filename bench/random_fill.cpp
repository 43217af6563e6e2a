#include "bench/random_fill.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/number_formats.h"

namespace headwise::bench {
namespace {

constexpr std::size_t kSteps = 1 << 16;
constexpr std::int64_t kWorthThreads = 1 << 16;  // elements

/// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Element i is one of the table's, picked by 16 bits of a hash of (seed, i / 4).
template <class T>
void fill_from(const std::vector<T>& table, T* data, std::int64_t count, std::uint64_t seed) {
  const std::uint64_t start = splitmix(seed);
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (std::int64_t block = 0; block < (count + 3) / 4; ++block) {
    const std::uint64_t bits = splitmix(start + static_cast<std::uint64_t>(block));
    const std::int64_t end = std::min<std::int64_t>(4, count - block * 4);
    for (std::int64_t i = 0; i < end; ++i)
      data[block * 4 + i] = table[(bits >> (16 * i)) & 0xffffU];
  }
}

template <class T>
std::vector<T> normal_table(T (*convert)(float)) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<T> table(kSteps);
  for (T& entry : table) entry = convert(normal(random));
  return table;
}

/// normal_table, made once.
template <class T, T (*convert)(float)>
const std::vector<T>& normals() {
  static const std::vector<T> table = normal_table<T>(convert);
  return table;
}

float to_float(float value) { return value; }

std::int8_t to_int8(float value) {
  return static_cast<std::int8_t>(std::lrint(std::clamp(value * kInt8Units, -127.0F, 127.0F)));
}

}  // namespace

void fill_normal(Buffer& buffer, DType type, std::int64_t count, std::uint64_t seed) {
  if (count == 0) return;
  const auto fill = [&]<class T>(const std::vector<T>& table) {
    fill_from(table, buffer.as<T>(), count, seed);
  };
  switch (type) {
    case DType::f32:
      return fill(normals<float, to_float>());
    case DType::f16:
      return fill(normals<std::uint16_t, float_to_f16>());
    case DType::bf16:
      return fill(normals<std::uint16_t, float_to_bf16>());
    case DType::f8e4m3:
      return fill(normals<std::uint8_t, float_to_e4m3>());
    case DType::i8:
      return fill(normals<std::int8_t, to_int8>());
  }
}

void fill_int8_scales(Buffer& buffer, std::int64_t count, std::uint64_t seed) {
  if (count == 0) return;
  static const std::vector<float> table = [] {
    std::vector<float> scales(kSteps);
    for (std::size_t i = 0; i < kSteps; ++i)
      scales[i] = (0.5F + static_cast<float>(i) / kSteps) / kInt8Units;
    return scales;
  }();
  fill_from(table, buffer.as<float>(), count, seed);
}

}  // namespace headwise::bench
