#include "tests/conformance/poisoned_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/number_formats.h"

namespace headwise::conformance {
namespace {

template <class T>
void put(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<T*>(data) + index, &value, sizeof(T));
}

template <class T>
T get(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const T*>(data) + index, sizeof(T));
  return value;
}

/// Random numbers of one type and spread; rows are copied out of it, which is what keeps tens of
/// thousands of cases cheap.
class NumberTable {
 public:
  static constexpr std::int64_t kNumbers = 1 << 14;

  NumberTable(DType dtype, double spread, double mean)
      : dtype_(dtype), bytes_(static_cast<std::size_t>(kNumbers * size_of(dtype))) {
    Rng rng(77);
    const double factor = dtype == DType::i8 ? (mean > 0.0 ? 18.0 : 45.0) : spread;
    const double limit = dtype == DType::i8 ? 128.0 : 400.0;
    for (std::int64_t i = 0; i < kNumbers; ++i) {
      double value = (rng.normal() + mean) * factor;
      if (i % 61 == 0) value *= 1e-3;  // subnormals of the narrow formats
      if (i % 97 == 0) value = -0.0;
      if (i % 1013 == 0 && dtype == DType::i8) value = -128.0;
      store_element(dtype, bytes_.data(), i, static_cast<float>(std::clamp(value, -limit, limit)));
    }
  }

  void copy(Rng& rng, std::byte* to, std::int64_t count) const {
    while (count > 0) {
      const std::int64_t chunk = std::min<std::int64_t>(count, 1024);
      const std::int64_t from = rng.below(kNumbers - chunk + 1);
      const std::int64_t size = size_of(dtype_);
      std::memcpy(to, bytes_.data() + from * size, static_cast<std::size_t>(chunk * size));
      to += chunk * size;
      count -= chunk;
    }
  }

 private:
  DType dtype_;
  std::vector<std::byte> bytes_;
};

const NumberTable& number_table(DType dtype, double spread, double mean) {
  struct Key {
    DType dtype;
    double spread;
    double mean;
    NumberTable numbers;
  };
  thread_local std::vector<Key> tables;
  for (const Key& key : tables)
    if (key.dtype == dtype && key.spread == spread && key.mean == mean) return key.numbers;
  tables.push_back({dtype, spread, mean, NumberTable(dtype, spread, mean)});
  return tables.back().numbers;
}

}  // namespace

void poison(DType dtype, std::byte* data, std::int64_t elements) {
  switch (dtype) {
    case DType::f32:
      return static_cast<void>(std::fill_n(reinterpret_cast<std::uint32_t*>(data), elements,
                                           std::uint32_t{0xffc0deadU}));
    case DType::f16:
      return static_cast<void>(
          std::fill_n(reinterpret_cast<std::uint16_t*>(data), elements, std::uint16_t{0x7ead}));
    case DType::bf16:
      return static_cast<void>(
          std::fill_n(reinterpret_cast<std::uint16_t*>(data), elements, std::uint16_t{0xffad}));
    case DType::f8e4m3:
    case DType::i8:
      return static_cast<void>(
          std::fill_n(reinterpret_cast<std::uint8_t*>(data), elements, std::uint8_t{0x7f}));
  }
}

void store_element(DType dtype, void* data, std::int64_t index, float value) {
  switch (dtype) {
    case DType::f32:
      return put(data, index, value);
    case DType::f16:
      return put(data, index, float_to_f16(value));
    case DType::bf16:
      return put(data, index, float_to_bf16(value));
    case DType::f8e4m3:
      return put(data, index, float_to_e4m3(value));
    case DType::i8:
      return put(data, index,
                 static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -128.0F, 127.0F)));
  }
}

float load_element(DType dtype, const void* data, std::int64_t index) {
  switch (dtype) {
    case DType::f32:
      return get<float>(data, index);
    case DType::f16:
      return f16_to_float(get<std::uint16_t>(data, index));
    case DType::bf16:
      return bf16_to_float(get<std::uint16_t>(data, index));
    case DType::f8e4m3:
      return e4m3_to_float(get<std::uint8_t>(data, index));
    case DType::i8:
      return get<std::int8_t>(data, index);
  }
  return 0.0F;
}

PoisonedTensor::PoisonedTensor(DType dtype, std::initializer_list<std::int64_t> sizes,
                               Memory memory, std::int64_t row_tail, bool wild) {
  view_ = dense(static_cast<void*>(nullptr), dtype, sizes);
  std::vector<int> order;  // dimensions, innermost first
  for (int i = view_.rank - 1; i >= 0; --i) order.push_back(i);
  if (memory == Memory::swapped && order.size() > 1) {
    // [page, head, token, dim] keeps pages outermost; [token, head, dim] turns head-major.
    const std::size_t at = order.size() == 2 ? 0 : 1;
    std::swap(order[at], order[at + 1]);
  }
  const std::int64_t pad = memory == Memory::padded ? 3 : 0;
  std::int64_t stride = 1;
  for (const int i : order) {
    view_.strides[static_cast<std::size_t>(i)] = stride;
    stride = stride * view_.sizes[static_cast<std::size_t>(i)] + pad;
    if (i == order.front()) stride += row_tail;
  }
  std::int64_t last = 0;
  bool empty = false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view_.rank); ++i) {
    last += std::max<std::int64_t>(view_.sizes[i] - 1, 0) * view_.strides[i];
    empty = empty || view_.sizes[i] == 0;
    if (wild && view_.sizes[i] == 1 && i + 1 < static_cast<std::size_t>(view_.rank))
      view_.strides[i] = std::array<std::int64_t, 3>{0, std::int64_t{1} << 40, -7}[i % 3];
  }
  const std::int64_t lead = memory == Memory::padded ? 1 : 0;
  const std::int64_t elements = empty ? 0 : lead + last + 1 + row_tail;
  storage_.resize(static_cast<std::size_t>(elements * size_of(dtype)));
  if (!empty) view_.data = storage_.data() + lead * size_of(dtype);
  poison();
}

void PoisonedTensor::poison() {
  conformance::poison(view_.dtype, storage_.data(),
                      static_cast<std::int64_t>(storage_.size()) / size_of(view_.dtype));
}

void PoisonedTensor::store_random(std::int64_t offset, std::int64_t count, Rng& rng, double spread,
                                  double mean) {
  number_table(view_.dtype, spread, mean)
      .copy(rng, static_cast<std::byte*>(view_.data) + offset * size_of(view_.dtype), count);
}

void PoisonedTensor::store(std::int64_t offset, float value) {
  store_element(view_.dtype, view_.data, offset, value);
}

float PoisonedTensor::load(std::int64_t offset) const {
  return load_element(view_.dtype, view_.data, offset);
}

std::vector<std::int64_t> PoisonedTensor::offsets() const {
  std::vector<std::int64_t> all = {0};
  for (std::size_t i = 0; i < static_cast<std::size_t>(view_.rank); ++i) {
    std::vector<std::int64_t> next;
    next.reserve(all.size() * static_cast<std::size_t>(view_.sizes[i]));
    for (const std::int64_t base : all)
      for (std::int64_t j = 0; j < view_.sizes[i]; ++j) next.push_back(base + j * view_.strides[i]);
    all = std::move(next);
  }
  return all;
}

std::vector<float> PoisonedTensor::values() const {
  std::vector<float> result;
  for (const std::int64_t offset : offsets()) result.push_back(load(offset));
  return result;
}

std::vector<std::byte> PoisonedTensor::bits() const {
  std::vector<std::byte> result;
  const std::int64_t size = size_of(view_.dtype);
  for (const std::int64_t offset : offsets()) {
    const auto* from = static_cast<const std::byte*>(view_.data) + offset * size;
    result.insert(result.end(), from, from + size);
  }
  return result;
}

bool PoisonedTensor::gaps_untouched() const {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view_.rank); ++i) elements *= view_.sizes[i];
  if (elements * size_of(view_.dtype) == static_cast<std::int64_t>(storage_.size())) return true;
  std::vector<std::byte> expected(storage_.size());
  const std::int64_t size = size_of(view_.dtype);
  conformance::poison(view_.dtype, expected.data(),
                      static_cast<std::int64_t>(storage_.size()) / size);
  const auto* first = static_cast<const std::byte*>(view_.data);
  for (const std::int64_t offset : offsets()) {
    const auto* element = first + offset * size;
    std::memcpy(expected.data() + (element - storage_.data()), element,
                static_cast<std::size_t>(size));
  }
  return expected == storage_;
}

}  // namespace headwise::conformance
