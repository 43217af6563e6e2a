#include "ops/blocks/block_product.h"

#include <algorithm>
#include <vector>

#include "headwise/machine.h"

namespace headwise {
namespace {

/// Rows of x in fixed point. Owns what the rows point into.
class FixedPointRows {
 public:
  FixedPointRows(const BlockIsa& isa, const Rows<const float>& x)
      : digits_(static_cast<std::size_t>(2 * x.count * x.width)),
        numbers_(static_cast<std::size_t>(3 * x.count * x.width / kFixedPointGroup)) {
    std::int8_t* digits = digits_.data();
    float* numbers = numbers_.data();
    for (std::int64_t i = 0; i < x.count; ++i) {
      const FixedPointRow row{digits, digits + x.width, numbers,
                              numbers + x.width / kFixedPointGroup};
      isa.to_fixed_point(x[i], x.width, row);
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

/// Which rows of w go together: one from each quarter, so that each lane reads memory in order,
/// from pages of its own. The processor's prefetching follows four such streams; it loses those
/// that lie within a page.
class RowQuarters {
 public:
  explicit RowQuarters(const StoredRows& w)
      : rows_(w.rows), row_bytes_(w.row_bytes()), data_(w.data) {}

  std::int64_t groups() const { return groups_; }
  /// Of a group's lane; beyond the last row where the quarters do not fill.
  std::int64_t row(std::int64_t group, int lane) const { return group + lane * groups_; }
  bool has(std::int64_t row) const { return row < rows_; }
  /// The last row's where there is none.
  const std::byte* bytes(std::int64_t group, int lane) const {
    return data_ + std::min(row(group, lane), rows_ - 1) * row_bytes_;
  }

 private:
  std::int64_t rows_;
  std::int64_t groups_ = (rows_ + kBlockRows - 1) / kBlockRows;
  std::int64_t row_bytes_;
  const std::byte* data_;
};

/// Rows first ... first + count - 1 of x with a group of w's.
BlockWork work_of(const Rows<const float>& x, const FixedPointRow* fixed, std::int64_t first,
                  std::int64_t count, const RowQuarters& quarters, std::int64_t group) {
  BlockWork work{.fixed = fixed == nullptr ? nullptr : fixed + first, .columns = x.width};
  for (std::int64_t i = 0; i < count; ++i) work.x[i] = x[first + i];
  for (int lane = 0; lane < kBlockRows; ++lane) work.w[lane] = quarters.bytes(group, lane);
  return work;
}

void store(const float (&products)[kBlockRows], float* y, const RowQuarters& quarters,
           std::int64_t group, Into into) {
  for (int lane = 0; lane < kBlockRows; ++lane) {
    const std::int64_t row = quarters.row(group, lane);
    if (quarters.has(row)) y[row] = into == Into::add ? y[row] + products[lane] : products[lane];
  }
}

}  // namespace

const BlockIsa* block_isa() {
  const auto& cpu = this_machine().cpu;
  if (cpu.avx512_bf16) return &block_isa_avx512();
  return cpu.avx2 ? &block_isa_avx2() : nullptr;
}

void block_product(const BlockIsa& isa, const Rows<const float>& x, const StoredRows& w,
                   const Rows<float>& y, Into into) {
  check(x.width == w.columns, "w has rows of ", w.columns, " elements, x of ", x.width);
  check(y.count == x.count && y.width == w.rows, "y is [", y.count, ", ", y.width, "], must be [",
        x.count, ", ", w.rows, "]");
  const bool quantised = block_elements(w.format) > 1;
  const FixedPointRows fixed(isa, quantised ? x : Rows<const float>{});
  const BlockKernels& kernels = isa.kernels(w.format);
  const RowQuarters quarters(w);
#pragma omp parallel for schedule(static)
  for (std::int64_t group = 0; group < quarters.groups(); ++group) {
    for (std::int64_t first = 0; first < x.count; first += kBlockInputs) {
      const std::int64_t count = std::min<std::int64_t>(x.count - first, kBlockInputs);
      float products[kBlockInputs][kBlockRows];
      BlockWork work =
          work_of(x, quantised ? fixed.data() : nullptr, first, count, quarters, group);
      work.y = products;
      kernels.of[count - 1](work);
      for (std::int64_t i = 0; i < count; ++i)
        store(products[i], y[first + i], quarters, group, into);
    }
  }
}

void block_product_of_rows(const BlockIsa& isa, const Rows<const float>& x, const StoredRows& w,
                           std::span<const std::int32_t> rows, std::span<float> products) {
  check(x.count == 1 && x.width == w.columns && rows.size() == products.size(), "x is [", x.count,
        ", ", x.width, "], w has rows of ", w.columns, "; ", rows.size(), " rows, ",
        products.size(), " products");
  check(std::all_of(rows.begin(), rows.end(),
                    [&](std::int32_t row) { return row >= 0 && row < w.rows; }),
        "a row is none of the matrix's ", w.rows);
  const bool quantised = block_elements(w.format) > 1;
  const FixedPointRows fixed(isa, quantised ? x : Rows<const float>{});
  const BlockKernels& kernels = isa.kernels(w.format);
  const auto count = static_cast<std::int64_t>(rows.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < count; first += kBlockRows) {
    float out[1][kBlockRows];
    BlockWork work{
        .x = {x[0]}, .fixed = quantised ? fixed.data() : nullptr, .columns = x.width, .y = out};
    const std::int64_t here = std::min<std::int64_t>(count - first, kBlockRows);
    for (int lane = 0; lane < kBlockRows; ++lane)
      work.w[lane] =
          w.row(rows[static_cast<std::size_t>(first + std::min<std::int64_t>(lane, here - 1))]);
    kernels.of[0](work);
    std::copy_n(out[0], here, products.data() + first);
  }
}

}  // namespace headwise
