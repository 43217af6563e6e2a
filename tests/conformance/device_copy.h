#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/runtime/memory.h"
#include "headwise/tensor_view.h"

namespace headwise::conformance {

/// Bytes from a view's first element to one past its last; 0 where it has none.
std::int64_t extent_bytes(const TensorView& view);

/// A block of a GPU's memory from those that earlier cases gave back, or a new one: cases come by
/// the thousand, and allocating is slow.
class DeviceBlock {
 public:
  explicit DeviceBlock(std::int64_t bytes);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::byte* data() const { return buffer_.as<std::byte>(); }  ///< on the device, 256-byte aligned

 private:
  cuda::DeviceBuffer buffer_;
};

/// Whether HEADWISE_EXACT_MEMORY is set: every copy is an allocation of its own that ends where the
/// copy does, without guards, so that compute-sanitizer sees reads past it, too.
bool exact_memory();

/// Copies of host memory on cuda:0, each with a guard of 0xff on both sides. A copy is aligned to
/// 16 bytes and no more, plus what the host's address has beyond 16.
class DeviceCopy {
 public:
  enum class Use : std::uint8_t { read, written };

  /// Memory from the view's first to its last element; gaps come along. Overlapping memory is
  /// copied once, so that views into one buffer stay so.
  void add(const TensorView& view, Use use);
  void add(const void* begin, std::int64_t bytes, Use use);

  /// Makes the copies of all that was added.
  void send();
  /// Sends once more what is written, and renews its guards.
  void send_written();
  /// Brings back what is written. Throws std::runtime_error where a guard was.
  void fetch_written();

  /// Where a byte of the host that was added lies on the device; null for null. Throws
  /// std::logic_error for others.
  std::byte* at(const void* host) const;

 private:
  struct Interval {
    std::byte* host;
    std::int64_t bytes;
    Use use;
    std::int64_t offset = 0;  ///< in the block
    std::byte* device = nullptr;
  };

  void join_overlapping();
  void lay_out();
  void stage(std::int64_t from);
  void fetch_staged();

  std::vector<Interval> intervals_;
  std::vector<std::byte> staging_;  ///< of the whole block
  std::int64_t written_from_ = 0;   ///< offset of the first written interval's guard
  std::unique_ptr<DeviceBlock> block_;
  std::vector<cuda::DeviceBuffer> exact_;  ///< one an interval, instead of the block
};

}  // namespace headwise::conformance
