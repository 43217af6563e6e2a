#pragma once

#include "core/aligned_memory.h"

namespace headwise::bench {

/// Host memory of tensors, as allocate_aligned() has it: in huge pages, so that a figure is of the
/// attention kernel and not of the TLB.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t bytes) : data_(allocate_aligned(bytes)), size_(bytes) {}

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }  ///< bytes

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }

 private:
  AlignedBytes data_;
  std::int64_t size_ = 0;
};

}  // namespace headwise::bench
