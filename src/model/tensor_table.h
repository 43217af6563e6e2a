#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/weight_tensor.h"

namespace headwise {

/// Tensors in a file's order, by name. Owns their names; moving keeps tensors where they are.
class TensorTable {
 public:
  /// Throws Error naming the tensor if there is one of its name.
  void add(WeightTensor tensor);

  std::span<const WeightTensor> tensors() const { return tensors_; }
  bool has(std::string_view name) const { return by_name_.contains(name); }
  /// Throws Error naming the tensor if it is missing.
  const WeightTensor& at(std::string_view name) const;
  /// As above, and throws unless its sizes are `sizes`, fastest first: {columns, rows}.
  const WeightTensor& at(std::string_view name, const std::vector<std::uint64_t>& sizes) const;

 private:
  std::vector<WeightTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;  // into tensors_
};

}  // namespace headwise
