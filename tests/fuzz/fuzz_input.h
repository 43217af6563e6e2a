#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headwise/error.h"
#include "model/weight_tensor.h"

namespace headwise {

/// Runs `action`, which may throw Error and nothing else. For LLVMFuzzerTestOneInput to return.
template <class Action>
int may_refuse(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    // One line, whatever the input holds.
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) __builtin_trap();
  }
  return 0;
}

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Reads the first and the last row.
inline void read_rows(const WeightTensor& tensor) {
  std::vector<float> row(tensor.columns());
  tensor.dequantise_row(0, row);
  tensor.dequantise_row(tensor.rows() - 1, row);
}

}  // namespace headwise
