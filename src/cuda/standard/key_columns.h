#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

// Who sees what, as kernels work it out; the host's tests run the same functions.

namespace headwise::cuda::standard {

struct PositionRange {
  std::int64_t first = 0;
  std::int64_t last = -1;

  __host__ __device__ bool contains(std::int64_t position) const {
    return position >= first && position <= last;
  }
};

/// A row at p sees keys at p - left ... p + right; -1 is unlimited. Both are below 2^62.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = 0;

  /// What rows at `first` ... `last` see. It begins at 0, where positions do.
  __host__ __device__ PositionRange seen_from(std::int64_t first, std::int64_t last) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 62;
    const std::int64_t begin = left < 0 ? 0 : first - left;
    return {begin > 0 ? begin : 0, right < 0 ? kFar : last + right};
  }
};

/// A request's lengths: the host's, and pointers to the device's own where there are any; the
/// host's are upper bounds then.
struct Lengths {
  std::int32_t q_len = 0;
  std::int32_t kv_len = 0;
  std::int64_t q_start = 0;
  const std::int32_t* device_q_len = nullptr;
  const std::int32_t* device_kv_len = nullptr;
  const std::int32_t* device_q_start = nullptr;

  __host__ __device__ bool on_device() const {
    return device_q_len != nullptr || device_kv_len != nullptr || device_q_start != nullptr;
  }
  __host__ __device__ std::int32_t rows() const { return bounded(device_q_len, q_len); }
  __host__ __device__ std::int32_t keys() const { return bounded(device_kv_len, kv_len); }
  __host__ __device__ std::int64_t start() const {
    if (device_q_start != nullptr) return *device_q_start;
    return on_device() ? std::int64_t{keys()} - rows() : q_start;
  }

 private:
  __host__ __device__ static std::int32_t bounded(const std::int32_t* own, std::int32_t limit) {
    return own != nullptr && *own < limit ? *own : limit;
  }
};

/// Where a slot lies, if some row of its request sees it.
struct KeyPlace {
  bool seen = false;
  std::int64_t page = 0;       ///< in the pool; packed: 0
  std::int64_t token = 0;      ///< in the page; packed: in K and V
  std::int32_t position = -1;  ///< -1 where it is not seen: no row's range contains it
};

/// Columns of a request's S: its slots from `first_slot` on.
struct KeyColumns {
  Lengths lengths;
  Window window;
  std::int64_t first_slot = 0;
  const std::int32_t* pages = nullptr;      ///< the request's first table row; null: packed
  const std::int32_t* positions = nullptr;  ///< laid out as `pages`; null: positions are slots
  std::int64_t head_stride = 0;             ///< from a KV head's table row to the next; 0: one row
  std::uint32_t page_size = 1;              ///< tokens
  std::int64_t kv_start = 0;                ///< packed: token index of slot 0

  /// Reads a page number only where the slot is seen.
  __host__ __device__ KeyPlace place_of(int kv_head, std::int64_t column) const {
    const std::int64_t slot = first_slot + column;
    const std::int64_t rows = lengths.rows();
    if (slot >= lengths.keys() || rows == 0) return {};
    const auto entry = static_cast<std::uint32_t>(slot) / page_size;
    const auto inside = static_cast<std::uint32_t>(slot) % page_size;
    const std::int64_t in_table = kv_head * head_stride + entry;
    const std::int64_t position =
        positions != nullptr ? std::int64_t{positions[in_table]} + inside : slot;
    const std::int64_t start = lengths.start();
    if (!window.seen_from(start, start + rows - 1).contains(position)) return {};
    const auto narrow = static_cast<std::int32_t>(position);
    if (pages == nullptr) return {true, 0, kv_start + slot, narrow};
    return {true, pages[in_table], inside, narrow};
  }
};

/// Columns begin ... end - 1 of those from `first_slot` on that a row at `position` may see; where
/// keys stand at other positions than their slots, all of them.
struct ColumnRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

__host__ __device__ inline ColumnRange columns_seen(const PositionRange& seen, bool by_slot,
                                                    std::int64_t first_slot, std::int64_t columns,
                                                    std::int64_t keys) {
  const std::int64_t live = keys - first_slot < columns ? keys - first_slot : columns;
  if (live <= 0) return {};
  if (!by_slot) return {0, live};
  const std::int64_t begin = seen.first - first_slot > 0 ? seen.first - first_slot : 0;
  const std::int64_t end = seen.last - first_slot < live ? seen.last - first_slot + 1 : live;
  if (end <= begin) return {};
  return {begin, end};
}

}  // namespace headwise::cuda::standard
