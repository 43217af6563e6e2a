#pragma once

#include "cuda/sm90/tensor_maps.h"
#include "cuda/step_args.h"
#include "headwise/dtype.h"

namespace headwise::cuda::sm90 {

/// The map by which an item's rows of q are copied at once: tokens by the query heads of a group.
/// There is none where items begin or end within a token, or rows lie at odd places.
class MappedQueries {
 public:
  /// Of items of so many rows; of 0: there is never a map.
  explicit MappedQueries(int rows) : rows_(rows) {}

  /// Adds the map of a step's q to those of its K and V, made anew where q lies elsewhere than last
  /// time. Throws Error(not_possible) where the driver refuses it.
  void add_to(TensorMaps& maps, const StepArgs& step, int q_heads, DType dtype);

 private:
  int rows_;  // of an item
  const void* data_ = nullptr;
  RowStrides strides_;
  CUtensorMap map_{};
};

}  // namespace headwise::cuda::sm90
