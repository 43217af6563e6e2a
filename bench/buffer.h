#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headwise::bench {

/// Memory of tensors on 64-byte boundaries; from 2 MiB up in huge pages where the kernel has them,
/// so that a figure is of the attention kernel and not of the TLB. Not initialised.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t bytes);  ///< throws std::bad_alloc

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
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::int64_t size_ = 0;
};

}  // namespace headwise::bench
