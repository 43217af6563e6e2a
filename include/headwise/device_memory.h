#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "headwise/device.h"

namespace headwise {

/// Memory of one device, as a KV cache needs it. Streams are a cudaStream_t each, unused on the
/// CPU; work on one stream happens in order. An engine with an allocator of its own may pass it off
/// as one of these.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  virtual Device device() const = 0;

  /// Bytes from a multiple of 64 on, not initialised; freed with the last copy of the pointer.
  /// Throws Error(not_possible) with `bytes` where the device has not as many.
  virtual std::shared_ptr<std::byte> allocate(std::int64_t bytes) const = 0;

  /// Copies `rows` rows of `width` bytes, which lie `pitch` bytes apart on both sides, within the
  /// device.
  virtual void copy_rows(std::byte* to, const std::byte* from, std::int64_t width,
                         std::int64_t pitch, std::int64_t rows, void* stream) const = 0;

  /// Copies from the host; `from` may change as soon as the call has returned.
  virtual void upload(std::byte* to, const void* from, std::int64_t bytes, void* stream) const = 0;

  /// Copies to the host, and waits for it and for what the stream had to do before.
  virtual void download(void* to, const std::byte* from, std::int64_t bytes,
                        void* stream) const = 0;
};

/// The CPU's memory.
const DeviceMemory& cpu_memory();

}  // namespace headwise
