#pragma once

#include <cstdint>
#include <vector>

#include "headwise/tensor_view.h"

namespace headwise {

/// Cosines and sines of consecutive positions, made once a step and used by every layer.
/// Pair i of a head turns by position * frequencies[i]. Source: Su et al. 2021, section 3.2.2.
class RopeTable {
 public:
  /// `frequencies`, radians a position: of each pair of a head. Cosines and sines are multiplied by
  /// `magnitude`, which YaRN wants (Peng et al. 2023, section 3.4).
  explicit RopeTable(std::vector<double> frequencies, double magnitude = 1.0);

  /// The positions first ... first + count - 1. Throws Error(invalid_input) where one is negative.
  void set_positions(std::int64_t first, std::int64_t count);

  int dims() const { return static_cast<int>(frequencies_.size()) * 2; }
  std::int64_t count() const { return count_; }
  /// [count, 2, dims / 2]: of a position its cosines, then its sines.
  const float* turns() const { return turns_.data(); }

 private:
  std::vector<double> frequencies_;
  double magnitude_;
  std::vector<float> turns_;
  std::int64_t count_ = 0;
};

/// Turns x[t, h] to the table's position t, in place. x is f32 [tokens, heads, head_dim] with the
/// last two dimensions dense. Throws Error(invalid_input) where sizes do not fit. Pairs are:
/// elements 2i and 2i + 1 (Llama's q and k in GGUF files, whose rows are permuted for it) ...
void rope_neighbours(const MutableTensorView& x, const RopeTable& table);
/// ... or elements i and i + dims / 2.
void rope_halves(const MutableTensorView& x, const RopeTable& table);

}  // namespace headwise
