#include "ops/weight_matrix.h"

#include "core/aligned_memory.h"
#include "core/check.h"
#include "core/touched_memory.h"
#include "headwise/machine.h"
#include "ops/bf16_product.h"
#include "ops/blocks/block_product.h"

namespace headwise {
namespace {

constexpr std::int64_t kFewRows = 8;  // of x: up to here the stored blocks are faster

MutableTensorView column_range(MutableTensorView matrix, std::int64_t first, std::int64_t width) {
  matrix.data = static_cast<float*>(matrix.data) + first;
  matrix.sizes[1] = width;
  return matrix;
}

/// The parts as f32, dense.
AlignedBytes dequantised(const std::vector<StoredRows>& parts, std::int64_t rows) {
  const std::int64_t columns = parts.front().columns;
  AlignedBytes bytes = allocate_aligned(rows * columns * 4);
  auto* target = reinterpret_cast<float*>(bytes.get());
  for (const StoredRows& part : parts) {
#pragma omp parallel for
    for (std::int64_t i = 0; i < part.rows; ++i)
      dequantise(part.format, {part.row(i), static_cast<std::size_t>(part.row_bytes())},
                 {target + i * columns, static_cast<std::size_t>(columns)});
    target += part.rows * columns;
  }
  return bytes;
}

}  // namespace

/// One of the two, by the maths.
struct WeightMatrix::Copy {
  std::unique_ptr<Bf16Product> bf16;
  AlignedBytes f32;
};

std::string_view name_of(Maths maths) {
  switch (maths) {
    case Maths::f32:
      return "f32";
    case Maths::blocks:
      return "blocks";
    case Maths::bf16:
      return "bf16";
  }
  __builtin_unreachable();
}

bool can_compute(Maths maths) {
  if (maths == Maths::bf16) return this_machine().cpu.avx512_bf16;
  return maths == Maths::f32 || block_isa() != nullptr;
}

Maths fastest_maths() {
  for (const Maths maths : {Maths::bf16, Maths::blocks})
    if (can_compute(maths)) return maths;
  return Maths::f32;
}

WeightMatrix::WeightMatrix(std::vector<StoredRows> parts, Maths maths)
    : parts_(std::move(parts)), maths_(maths) {
  check(!parts_.empty(), "a weight matrix needs a part");
  if (!can_compute(maths))
    throw Error(ErrorCode::not_possible,
                concat(name_of(maths), " maths needs ",
                       maths == Maths::bf16 ? "AVX-512 with BF16 and VNNI" : "AVX2"));
  columns_ = parts_.front().columns;
  for (const StoredRows& part : parts_) {
    check(part.columns == columns_, "parts have ", part.columns, " and ", columns_, " columns");
    rows_ += part.rows;
  }
}

WeightMatrix::WeightMatrix() = default;
WeightMatrix::WeightMatrix(WeightMatrix&&) noexcept = default;
WeightMatrix& WeightMatrix::operator=(WeightMatrix&&) noexcept = default;
WeightMatrix::~WeightMatrix() = default;

std::unique_ptr<WeightMatrix::Copy> WeightMatrix::make_copy() const {
  auto copy = std::make_unique<Copy>();
  if (maths_ == Maths::bf16) {
    copy->bf16 = std::make_unique<Bf16Product>(parts_);
  } else {
    copy->f32 = dequantised(parts_, rows_);
  }
  return copy;
}

void WeightMatrix::prepare() {
  if (!copy_) copy_ = make_copy();
}

void WeightMatrix::touch() const {
  for (const StoredRows& part : parts_)
    touch_for_reading({part.data, static_cast<std::size_t>(part.rows * part.row_bytes())});
}

void WeightMatrix::multiply(const TensorView& x, const MutableTensorView& y, Into into) {
  const Rows<const float> in = rows_of(x, "x");
  const Rows<float> out = rows_of(y, "y");
  check(in.width == columns_ && out.width == rows_ && out.count == in.count, "x is [", in.count,
        ", ", in.width, "], w [", rows_, ", ", columns_, "], y [", out.count, ", ", out.width, "]");
  if (maths_ != Maths::f32 && in.count <= kFewRows) return multiply_blocks(in, y, into);
  std::unique_ptr<Copy> own;
  if (!copy_) own = make_copy();
  const Copy& copy = copy_ ? *copy_ : *own;
  if (maths_ == Maths::bf16) {
    copy.bf16->run(in, out, into);
  } else {
    const auto* w = reinterpret_cast<const float*>(copy.f32.get());
    linear(x, dense(w, DType::f32, {rows_, columns_}), y, into);
  }
}

void WeightMatrix::multiply_blocks(const Rows<const float>& x, const MutableTensorView& y,
                                   Into into) const {
  std::int64_t first = 0;
  for (const StoredRows& part : parts_) {
    block_product(*block_isa(), x, part, rows_of(column_range(y, first, part.rows), "y"), into);
    first += part.rows;
  }
}

bool WeightMatrix::finds_largest_row() const {
  return maths_ != Maths::f32 && parts_.size() == 1 && LargestRow::pays(parts_.front());
}

std::int32_t WeightMatrix::largest_row(const TensorView& x, std::int64_t among) {
  check(finds_largest_row() && among > 0 && among <= rows_, "no largest of ", among, " rows");
  if (!largest_row_ || largest_row_->rows() != among) {
    StoredRows first = parts_.front();
    first.rows = among;
    largest_row_ = std::make_unique<LargestRow>(first);
  }
  return largest_row_->of(rows_of(x, "x"));
}

void WeightMatrix::row(std::int64_t index, float* out) const {
  for (const StoredRows& part : parts_) {
    if (index < part.rows) {
      dequantise(part.format, {part.row(index), static_cast<std::size_t>(part.row_bytes())},
                 {out, static_cast<std::size_t>(columns_)});
      return;
    }
    index -= part.rows;
  }
  check(false, "the matrix has no such row");
}

}  // namespace headwise
