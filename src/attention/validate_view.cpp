#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "attention/validate.h"
#include "core/check.h"

namespace headwise {
namespace {

/// Whether two indices may share an element: in order of strides, each must span the dimensions
/// below.
bool overlaps(const TensorView& view) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (int i = 0; i < view.rank; ++i)
    if (view.sizes[i] > 1) dims.emplace_back(view.strides[i], view.sizes[i]);
  std::sort(dims.begin(), dims.end());
  std::int64_t span = 1;
  for (const auto& [stride, size] : dims) {
    if (stride < span) return true;
    span += stride * (size - 1);
  }
  return false;
}

/// Bytes from the first element to one past the last; -1 where they pass 63 bits.
std::int64_t extent_bytes(const TensorView& view) {
  __extension__ using Wide = __int128;
  Wide elements = 1;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] == 0) return 0;
    if (view.sizes[i] > 1) elements += static_cast<Wide>(view.sizes[i] - 1) * view.strides[i];
    if (elements > std::numeric_limits<std::int64_t>::max() / 8) return -1;
  }
  return static_cast<std::int64_t>(elements) * size_of(view.dtype);
}

}  // namespace

void check_view(const TensorView& view, const ViewRule& rule) {
  check(static_cast<bool>(view), rule.field, " is absent");
  check(view.rank == rule.rank, rule.field, ".rank is ", view.rank, "; it must be ", rule.rank);
  bool empty = false;
  for (int i = 0; i < view.rank; ++i) {
    check(view.sizes[i] >= 0, rule.field, ".sizes[", i, "] is ", view.sizes[i]);
    empty = empty || view.sizes[i] == 0;
  }
  if (empty) return;
  for (int i = 0; i < view.rank; ++i)
    check(view.sizes[i] == 1 || view.strides[i] >= 0, rule.field, ".strides[", i, "] is ",
          view.strides[i], "; it must not be negative");
  const int last = view.rank - 1;
  check(!rule.unit_last_stride || view.sizes[last] == 1 || view.strides[last] == 1, rule.field,
        ".strides[", last, "] is ", view.strides[last], "; it must be 1");
  // The view's text is made only where it is needed: appends check views for every layer.
  if (extent_bytes(view) < 0)
    check(false, rule.field, " (", to_string(view), ") spans more than 2^60 elements");
  if (rule.written && overlaps(view))
    check(false, rule.field, ".strides let elements overlap: ", to_string(view));
  check(view.data != nullptr, rule.field, ".data is null");
  check(reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.dtype) == 0, rule.field,
        ".data ", view.data, " is not aligned to its elements of ", size_of(view.dtype), " bytes");
}

void check_size(const TensorView& view, std::string_view field, int dimension,
                std::int64_t expected, std::string_view meaning) {
  check(view.sizes[dimension] == expected, field, ".sizes[", dimension, "] is ",
        view.sizes[dimension], "; ", meaning, " is ", expected);
}

void check_dtype(const TensorView& view, std::string_view field, DType expected) {
  check(view.dtype == expected, field, ".dtype is ", name_of(view.dtype), "; it must be ",
        name_of(expected));
}

}  // namespace headwise
