#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "headwise/tensor_view.h"
#include "tests/conformance/random.h"

namespace headwise::conformance {

/// How a tensor lies in memory. `padded` also starts one element off any wider alignment;
/// `swapped` exchanges the first two inner dimensions (HND against NHD, heads before tokens).
enum class Memory : std::uint8_t { dense, swapped, padded };

/// A tensor with memory of its own that ends at its last element. Every byte is poison until
/// stored to: NaN of the type, 127 for i8.
class PoisonedTensor {
 public:
  PoisonedTensor() = default;
  PoisonedTensor(PoisonedTensor&&) = default;
  PoisonedTensor& operator=(PoisonedTensor&&) = default;
  /// `row_tail` elements follow each innermost row. `wild`: strides of dimensions of length 1 are
  /// numbers that nobody may multiply into an address.
  PoisonedTensor(DType dtype, std::initializer_list<std::int64_t> sizes, Memory memory,
                 std::int64_t row_tail = 0, bool wild = false);

  explicit operator bool() const { return static_cast<bool>(view_); }
  TensorView view() const { return view_; }
  MutableTensorView mutable_view() { return view_; }

  std::int64_t offset_of(std::int64_t a, std::int64_t b, std::int64_t c = 0,
                         std::int64_t d = 0) const {
    return a * view_.strides[0] + b * view_.strides[1] + c * view_.strides[2] +
           d * view_.strides[3];
  }

  /// `count` elements `offset` elements behind the view's first. `mean` counts in spreads.
  void store_random(std::int64_t offset, std::int64_t count, Rng& rng, double spread,
                    double mean = 0.0);
  void store(std::int64_t offset, float value);
  float load(std::int64_t offset) const;

  /// All elements of the view, outermost first, as floats.
  std::vector<float> values() const;
  /// The same, as stored.
  std::vector<std::byte> bits() const;

  /// True if every byte outside the view is still the poison that it was.
  bool gaps_untouched() const;
  void poison();

 private:
  std::vector<std::int64_t> offsets() const;

  std::vector<std::byte> storage_;
  MutableTensorView view_;
};

void poison(DType dtype, std::byte* data, std::int64_t elements);
void store_element(DType dtype, void* data, std::int64_t index, float value);
float load_element(DType dtype, const void* data, std::int64_t index);

}  // namespace headwise::conformance
