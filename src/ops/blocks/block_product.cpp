#include "ops/blocks/block_product.h"

#include <algorithm>
#include <vector>

#include "headwise/machine.h"
#include "ops/blocks/block_kernels.h"

namespace headwise {
namespace {

/// Rows of x in fixed point. Owns what the rows point into.
class FixedPointRows {
 public:
  explicit FixedPointRows(const Rows<const float>& x)
      : digits_(static_cast<std::size_t>(2 * x.count * x.width)),
        numbers_(static_cast<std::size_t>(3 * x.count * x.width / kFixedPointGroup)) {
    std::int8_t* digits = digits_.data();
    float* numbers = numbers_.data();
    for (std::int64_t i = 0; i < x.count; ++i) {
      const FixedPointRow row{digits, digits + x.width, numbers,
                              numbers + x.width / kFixedPointGroup};
      to_fixed_point(x[i], x.width, row);
      rows_.push_back(row);
      digits += 2 * x.width;
      numbers += 3 * x.width / kFixedPointGroup;
    }
  }
  const FixedPointRow* data() const { return rows_.data(); }

 private:
  std::vector<std::int8_t> digits_;
  std::vector<float> numbers_;
  std::vector<FixedPointRow> rows_;
};

void store(const float (&products)[kBlockRows], float* target, std::int64_t count, Into into) {
  for (std::int64_t i = 0; i < count; ++i)
    target[i] = into == Into::add ? target[i] + products[i] : products[i];
}

/// Rows first ... first + count - 1 of x with four rows of w, the last one again where fewer are
/// left.
BlockWork work_of(const Rows<const float>& x, const FixedPointRow* fixed, std::int64_t first,
                  std::int64_t count, const StoredRows& w, std::int64_t row) {
  BlockWork work{.fixed = fixed == nullptr ? nullptr : fixed + first, .columns = w.columns};
  for (std::int64_t i = 0; i < count; ++i) work.x[i] = x[first + i];
  for (int i = 0; i < kBlockRows; ++i) work.w[i] = w.row(std::min(row + i, w.rows - 1));
  return work;
}

}  // namespace

bool has_block_product() { return this_machine().cpu.avx512_bf16; }

void block_product(const Rows<const float>& x, const StoredRows& w, const Rows<float>& y,
                   Into into) {
  check(x.width == w.columns, "w has rows of ", w.columns, " elements, x of ", x.width);
  check(y.count == x.count && y.width == w.rows, "y is [", y.count, ", ", y.width, "], must be [",
        x.count, ", ", w.rows, "]");
  const bool quantised = block_elements(w.format) > 1;
  const FixedPointRows fixed(quantised ? x : Rows<const float>{});
  const BlockKernels& kernels = block_kernels(w.format);
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < w.rows; row += kBlockRows) {
    for (std::int64_t first = 0; first < x.count; first += kBlockInputs) {
      const std::int64_t count = std::min<std::int64_t>(x.count - first, kBlockInputs);
      float products[kBlockInputs][kBlockRows];
      BlockWork work = work_of(x, quantised ? fixed.data() : nullptr, first, count, w, row);
      work.y = products;
      kernels.of[count - 1](work);
      const std::int64_t rows = std::min<std::int64_t>(w.rows - row, kBlockRows);
      for (std::int64_t i = 0; i < count; ++i) store(products[i], y[first + i] + row, rows, into);
    }
  }
}

}  // namespace headwise
