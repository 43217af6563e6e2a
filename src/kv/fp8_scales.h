#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headwise/device_memory.h"
#include "headwise/kv_memory.h"

namespace headwise {

/// The scales of a layer group whose K and V are f8e4m3, and how many numbers were beyond them, on
/// the cache's device. Empty for other types.
class Fp8Scales {
 public:
  Fp8Scales(const LayerGroup& group, const DeviceMemory& memory);

  bool wanted() const { return data_ != nullptr; }
  /// Throws Error(invalid_input) on a wrong number of scales, or one that is not above 0 and
  /// finite.
  void set(int layer, std::span<const float> k, std::span<const float> v);
  bool has(int layer) const { return set_[static_cast<std::size_t>(layer)]; }

  const float* k(int layer) const { return of(layer); }
  const float* v(int layer) const { return wanted() ? of(layer) + scales_ : nullptr; }
  std::uint64_t* saturated() const { return saturated_.get(); }
  std::uint64_t count_saturated(void* stream) const;

 private:
  float* of(int layer) const {
    return wanted() ? data_.get() + std::int64_t{layer} * 2 * scales_ : nullptr;
  }

  const DeviceMemory* memory_;
  std::int64_t scales_;          // of K, or of V, in a layer
  std::vector<bool> set_;        // by layer
  std::shared_ptr<float> data_;  // [layers, K and V, scales]
  std::shared_ptr<std::uint64_t> saturated_;
};

}  // namespace headwise
