#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace headwise::conformance {

/// SplitMix64 (Steele, Lea and Flood 2014): the same numbers from a seed with every library.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  Rng(std::uint64_t seed, std::uint64_t index) : state_(seed * 0x2545f4914f6cdd1dULL) {
    state_ = next() ^ (index * 0x9e3779b97f4a7c15ULL);
  }

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int one_in) { return below(one_in) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  /// Mean 0, variance 1, within +-3.5: the sum of four uniform numbers.
  double normal() {
    double sum = -2.0;
    for (int i = 0; i < 4; ++i) sum += uniform(0.0, 1.0);
    return sum * 1.7320508075688772;
  }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
  /// 0 ... n - 1 in random order.
  std::vector<std::int64_t> permutation(std::int64_t n) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    for (std::int64_t i = n - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1))]);
    return order;
  }

 private:
  std::uint64_t state_;
};

}  // namespace headwise::conformance
