#pragma once

#include "cuda/sm90/tensor_maps.h"
#include "cuda/step/kv_tensors.h"

namespace headwise::cuda::sm90 {

/// The largest number of a page's tokens that divides it and every tile: what a copy brings. Below
/// 8 copies do not pay.
int box_tokens(std::int64_t page_size);

/// A layer's K and V with the maps that tensor copies need. Where addresses or strides are no
/// multiples of 16 bytes there are none, and kernels copy element by element.
class MappedKeys final : public KvTensors {
 public:
  /// Throws Error(not_possible) where the driver refuses a map.
  MappedKeys(std::string_view backend, const AttentionShape& shape, KvLayout layout,
             const KvView& view);

  const TensorMaps& maps() const { return maps_; }

 private:
  TensorMaps maps_{};
};

}  // namespace headwise::cuda::sm90
