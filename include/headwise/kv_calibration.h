#pragma once

#include <span>
#include <vector>

#include "headwise/kv_memory.h"
#include "headwise/tensor_view.h"

namespace headwise {

class KvCache;

/// Finds the scales of a layer group whose K and V are f8e4m3, by looking at K and V of some tokens
/// before any is stored: the greatest magnitude of a layer, or of a KV head in it, becomes 448, the
/// greatest number of f8e4m3. Numbers beyond what was seen saturate later, and are counted.
class KvCalibration {
 public:
  /// Throws Error(invalid_input) where the group's kv_type is another one.
  explicit KvCalibration(const LayerGroup& group);

  /// K [tokens, kv_heads, head_dim_qk] and V [tokens, kv_heads, head_dim_v] of a layer's tokens, on
  /// the CPU, f32, f16 or bf16; V is absent for absorbed MLA. NaN and infinities are passed over.
  void observe(int layer, const TensorView& k, const TensorView& v);

  /// One a tensor, or one a KV head; 1 where there were zeros alone. Throws Error(invalid_input)
  /// where no token of the layer was seen.
  std::vector<float> k_scales(int layer) const;
  std::vector<float> v_scales(int layer) const;

  /// Sets the scales of all layers of a cache's group, where KvCache::set_scales takes them.
  void apply(KvCache& cache, int group) const;

 private:
  std::vector<float> scales(int layer, bool of_v) const;
  void observe_tensor(int layer, bool of_v, const TensorView& tensor, int dim);

  LayerGroup group_;
  std::vector<float> greatest_;  // [layers, K and V, kv_heads]
  std::vector<bool> seen_;       // by layer
};

}  // namespace headwise
