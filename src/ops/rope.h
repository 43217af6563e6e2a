#pragma once

#include <cstdint>
#include <vector>

#include "headwise/tensor_view.h"

namespace headwise {

/// Cosines and sines of consecutive positions, made once a step and used by every layer.
/// Pair i of a head turns by position * base^(-2 i / dims). Source: Su et al. 2021, section 3.2.2.
class RopeTable {
 public:
  /// Turns the first `dims` elements of a head, an even number.
  RopeTable(int dims, double base);

  /// The positions first ... first + count - 1. Throws Error(invalid_input) where one is negative.
  void set_positions(std::int64_t first, std::int64_t count);

  int dims() const { return static_cast<int>(frequencies_.size()) * 2; }
  std::int64_t count() const { return count_; }
  const float* turns() const { return turns_.data(); }  ///< [count, dims / 2, 2]: cosine, sine

 private:
  std::vector<double> frequencies_;  // radians a position, [dims / 2]
  std::vector<float> turns_;
  std::int64_t count_ = 0;
};

/// Turns x[t, h] to the table's position t, in place. x is f32 [tokens, heads, head_dim] with the
/// last two dimensions dense. Elements 2i and 2i + 1 form a pair: the order of Llama's q and k in
/// GGUF files, whose rows are permuted for it. Throws Error(invalid_input) where sizes do not fit.
void rope(const MutableTensorView& x, const RopeTable& table);

}  // namespace headwise
