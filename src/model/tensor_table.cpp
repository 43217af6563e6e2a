#include "model/tensor_table.h"

#include "core/check.h"
#include "model/byte_reader.h"

namespace headwise {
namespace {

std::string shown(const std::vector<std::uint64_t>& sizes) {
  std::string text;
  for (const std::uint64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

}  // namespace

void TensorTable::add(WeightTensor tensor) {
  const auto [entry, added] = by_name_.emplace(tensor.name, tensors_.size());
  check(added, label(tensor), " appears twice");
  tensor.name = entry->first;
  tensors_.push_back(std::move(tensor));
}

const WeightTensor& TensorTable::at(std::string_view name) const {
  const auto found = by_name_.find(name);
  check(found != by_name_.end(), "tensor ", quoted_name(name), " is missing");
  return tensors_[found->second];
}

const WeightTensor& TensorTable::at(std::string_view name,
                                    const std::vector<std::uint64_t>& sizes) const {
  const WeightTensor& found = at(name);
  check(found.sizes == sizes, label(found), " is ", shown(found.sizes), ", not ", shown(sizes));
  return found;
}

}  // namespace headwise
