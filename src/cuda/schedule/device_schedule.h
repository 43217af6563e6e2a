#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "cuda/runtime/memory.h"
#include "cuda/schedule/schedule.h"

namespace headwise::cuda {

/// A schedule at fixed addresses of a device, rewritten step after step without waiting, unless the
/// device is several steps behind.
class DeviceSchedule {
 public:
  DeviceSchedule(int device, const ScheduleBounds& bounds);
  ~DeviceSchedule();
  DeviceSchedule(const DeviceSchedule&) = delete;
  DeviceSchedule& operator=(const DeviceSchedule&) = delete;

  /// Copies `schedule`, which is within the bounds, behind the stream's work.
  void write(const Schedule& schedule, cudaStream_t stream);

  const WorkItem* items() const { return at<const WorkItem>(items_at_); }
  const Split* splits() const { return at<const Split>(splits_at_); }
  const SharedToken* shared_tokens() const { return at<const SharedToken>(shared_tokens_at_); }
  const std::int32_t* block_begin() const { return at<const std::int32_t>(block_begin_at_); }
  const ScheduleCounts* counts() const { return at<const ScheduleCounts>(0); }

  // Counters, which kernels leave at 0.
  std::uint32_t* next_item() const { return counters_.as<std::uint32_t>(); }
  std::uint32_t* blocks_done() const { return counters_.as<std::uint32_t>() + 1; }
  std::uint32_t* parts_done() const { return counters_.as<std::uint32_t>() + kCounters; }
  /// One that only rises.
  unsigned long long* repeated_rows() const { return counters_.as<unsigned long long>() + 1; }

 private:
  /// A copy under way must not be overwritten.
  struct Image {
    PinnedBuffer memory;
    cudaEvent_t copied = nullptr;
  };

  static constexpr std::int64_t kCounters = 4;  ///< before those of parts, 32 bits each

  template <class T>
  T* at(std::int64_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_.data()) + offset);
  }

  std::int64_t items_at_;
  std::int64_t splits_at_;
  std::int64_t shared_tokens_at_;
  std::int64_t block_begin_at_;
  DeviceBuffer memory_;
  DeviceBuffer counters_;
  std::array<Image, 4> images_;
  std::size_t next_image_ = 0;
};

}  // namespace headwise::cuda
