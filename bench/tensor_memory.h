#pragma once

#include <memory>

#include "bench/buffer.h"
#include "bench/gpu.h"

namespace headwise::bench {

/// Memory of tensors where they lie: the host's, or a GPU's. Not initialised.
class TensorMemory {
 public:
  TensorMemory() = default;
  /// `gpu` null: of the host. Throws Error(not_possible).
  TensorMemory(std::int64_t bytes, Gpu* gpu);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }  ///< bytes

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

  void set_bytes(std::byte value);
  /// Its first `count` elements, as fill_random() has them.
  void fill_random(const RandomTable& table, std::int64_t count, std::uint64_t seed);
  /// As the function of this name.
  void fill_outliers(const RandomTable& table, const OutlierRows& outliers, std::uint64_t seed);

 private:
  Gpu* gpu_ = nullptr;
  Buffer host_;
  std::shared_ptr<void> device_;
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Host memory that was given is copied to `gpu`; none: null, and nothing to copy.
std::shared_ptr<void> on_gpu(Gpu& gpu, const void* host, std::int64_t bytes);

}  // namespace headwise::bench
