#include "model/weight_tensor.h"

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {

std::string label(const WeightTensor& tensor) { return "tensor " + quoted_name(tensor.name); }

std::uint64_t WeightTensor::elements() const {
  std::uint64_t product = 1;
  for (const std::uint64_t size : sizes) product *= size;
  return product;
}

std::uint64_t WeightTensor::rows() const { return elements() / columns(); }

void WeightTensor::dequantise_to_f32(std::span<float> out) const {
  check(out.size() == elements(), label(*this), " has ", elements(), " weights, not ", out.size());
  dequantise(format, data, out);
}

void WeightTensor::dequantise_row(std::uint64_t row, std::span<float> out) const {
  check(row < rows(), label(*this), " has ", rows(), " rows, none of number ", row);
  check(out.size() == columns(), label(*this), " has rows of ", columns(), " weights, not ",
        out.size());
  const std::size_t row_bytes = columns() / block_elements(format) * block_bytes(format);
  dequantise(format, data.subspan(row * row_bytes, row_bytes), out);
}

}  // namespace headwise
