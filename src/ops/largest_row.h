#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/rows.h"
#include "ops/stored_rows.h"

namespace headwise {

/// Finds the row of a matrix w whose product with a vector is the largest, reading about half of
/// w's bytes: all rows in four bits (Q4_0), and as they are stored only those that may be it. A
/// row's product is off in four bits by the product of the vector with the difference of both rows,
/// which is at most the product of their lengths (Cauchy, Schwarz). The answer is that of
/// block_product() and argmax(), not an approximation.
class LargestRow {
 public:
  /// Whether that reads much less than the stored rows, on a machine with block products.
  static bool pays(const StoredRows& w);

  /// Makes the copy in four bits. `w` pays; its bytes must outlive this.
  explicit LargestRow(const StoredRows& w);

  /// Of x, [1, columns]: the first among equals. Throws Error(invalid_input) where sizes do not
  /// fit, or as argmax() does where the largest product may be NaN.
  std::int32_t of(const Rows<const float>& x);

  std::int64_t rows() const { return w_.rows; }
  std::int64_t copy_bytes() const;
  /// Rows that the last search read as they are stored.
  std::int64_t candidates() const { return static_cast<std::int64_t>(candidates_.size()); }

 private:
  /// Of a stretch of rows: the largest product in four bits, and the most that a stored row's may
  /// be; infinity where that is unknown.
  struct Stretch {
    float largest;
    float most;
  };
  Stretch look_at(std::int64_t first, float length) const;
  std::int32_t likely_row() const;
  void find_candidates(float least, float length);
  void copy_row(std::int64_t index, std::vector<float>& stored, std::vector<float>& copied);

  StoredRows w_;
  std::vector<std::byte> blocks_;  // of the copy
  std::vector<float> off_by_;      // [rows]: what a product is off by at most, for x of length 1
  std::vector<float> products_;    // [rows], then of the candidates
  std::vector<Stretch> stretches_;
  std::vector<std::int32_t> candidates_;
};

}  // namespace headwise
