#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "headwise/tensor_view.h"
#include "ops/largest_row.h"
#include "ops/linear.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"

namespace headwise {

/// How matrix products are computed.
enum class Maths : std::uint8_t {
  f32,     ///< weights dequantised to f32, all in f32
  blocks,  ///< few rows: stored blocks (blocks/block_product.h); many rows: as f32
  bf16,    ///< few rows: stored blocks; many rows: both sides rounded to bf16, f32 sums
};

/// "f32", "blocks", "bf16".
std::string_view name_of(Maths maths);

/// Whether this machine computes in `maths`.
bool can_compute(Maths maths);

/// What this machine does fastest.
Maths fastest_maths();

/// A weight matrix [rows, columns] and its products. Not for several threads at once.
class WeightMatrix {
 public:
  WeightMatrix();
  /// `parts`, of the same number of columns, lie below one another. Their bytes must outlive it.
  /// Throws Error(not_possible) where the machine cannot compute in `maths`.
  WeightMatrix(std::vector<StoredRows> parts, Maths maths);
  WeightMatrix(WeightMatrix&&) noexcept;
  WeightMatrix& operator=(WeightMatrix&&) noexcept;
  ~WeightMatrix();

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  /// Makes the copy of the weights that products of many rows need, of any number in Maths::f32;
  /// without it each such product makes one for itself.
  void prepare();
  /// Has the stored rows in memory, for products of few rows (core/touched_memory.h).
  void touch() const;
  std::int64_t copy_bytes() const { return rows_ * columns_ * (maths_ == Maths::bf16 ? 2 : 4); }

  /// y[m, rows] = x[m, columns] w^T, or y += with Into::add. All f32. Throws Error(invalid_input)
  /// where types or sizes do not fit.
  void multiply(const TensorView& x, const MutableTensorView& y, Into into = Into::overwrite);

  /// Whether largest_row() reads much less than multiply(), once it has made a copy in four bits.
  bool finds_largest_row() const;
  /// The first `among` rows' largest product with x, [1, columns] f32, by index: that of argmax()
  /// and multiply(). Throws Error(invalid_input) as they do, and unless finds_largest_row().
  std::int32_t largest_row(const TensorView& x, std::int64_t among);

  /// Row `index`, dequantised, to `out`, [columns].
  void row(std::int64_t index, float* out) const;

 private:
  struct Copy;
  std::unique_ptr<Copy> make_copy() const;
  void multiply_blocks(const Rows<const float>& x, const MutableTensorView& y, Into into) const;
  std::vector<StoredRows> parts_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Maths maths_ = Maths::f32;
  std::unique_ptr<Copy> copy_;
  std::unique_ptr<LargestRow> largest_row_;  // of so many rows as were last asked for
};

}  // namespace headwise
