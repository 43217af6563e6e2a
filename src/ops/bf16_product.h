#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ops/linear.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"

namespace headwise {

/// A weight matrix in bf16, laid out as oneDNN's products of many rows want it.
class Bf16Product {
 public:
  /// `parts`, of the same number of columns, lie below one another. Dequantises and rounds them.
  explicit Bf16Product(std::span<const StoredRows> parts);
  ~Bf16Product();
  Bf16Product(const Bf16Product&) = delete;
  Bf16Product& operator=(const Bf16Product&) = delete;

  /// y = x w^T, or y += x w^T: x is rounded to bf16, sums are f32. x [m, columns], y [m, rows of
  /// w].
  void run(const Rows<const float>& x, const Rows<float>& y, Into into);

 private:
  struct Packed;
  std::unique_ptr<Packed> packed_;
};

}  // namespace headwise
