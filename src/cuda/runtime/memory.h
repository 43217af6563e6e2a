#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headwise::cuda {

/// Memory of one GPU, aligned to 256 bytes; not initialised. Freed with the object.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Throws Error(not_possible) with the bytes where the device has not as many free.
  DeviceBuffer(int device, std::int64_t bytes);

  void* data() const { return data_.get(); }   ///< on the device
  std::int64_t size() const { return size_; }  ///< bytes

  template <class T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> data_;
  std::int64_t size_ = 0;
};

/// Page-locked memory of the host, which copies to a device need to be asynchronous. Freed with the
/// object.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::int64_t bytes);  ///< throws Error(not_possible)

  void* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }  ///< bytes

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> data_;
  std::int64_t size_ = 0;
};

// These wait until the device has done them, and all work before them on the default stream.
void copy_to_device(void* to, const void* from, std::int64_t bytes);
void copy_to_host(void* to, const void* from, std::int64_t bytes);
void fill(void* to, std::byte value, std::int64_t bytes);

/// Waits for all work of the device; throws Error(not_possible) with what failed in it.
void synchronize(int device);

/// Bytes that the device has free.
std::int64_t free_bytes(int device);

}  // namespace headwise::cuda
