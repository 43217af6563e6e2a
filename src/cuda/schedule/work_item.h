#pragma once

#include <cstdint>

namespace headwise::cuda {

/// What a thread block does at a time: some rows of one KV head over some keys. Rows of a request
/// are its new tokens times the query heads of a group, token after token.
struct WorkItem {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t row = 0;
  std::int32_t rows = 0;
  std::int32_t slot_begin = 0;
  std::int32_t slot_end = 0;
  std::int32_t part_row = -1;  ///< its first row among the partial results; -1: these are all keys
  std::int32_t split = -1;     ///< the Split that it belongs to

  // The request's own, so that a block needs one read to begin.
  std::int64_t first_token = 0;  ///< its first new token among the step's
  std::int64_t kv_start = 0;     ///< packed: token index of its first key
  std::int32_t q_len = 0;
  std::int32_t kv_len = 0;
  std::int32_t q_start = 0;  ///< position of its first new token
  std::int32_t reserved = 0;
};
static_assert(sizeof(WorkItem) == 64);  // four 16-byte copies

/// Rows whose keys several items share; part p's results start at part_row + p * rows.
struct Split {
  std::int32_t part_row = 0;
  std::int32_t parts = 0;
  std::int32_t rows = 0;
  std::int32_t reserved = 0;
};

/// Divides numbers below 2^31 by one that is known beforehand (Granlund, Montgomery: Division by
/// Invariant Integers using Multiplication, 1994, figure 4.1).
struct Divider {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;

  Divider() = default;
  explicit Divider(std::uint32_t by) : divisor(by) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    multiplier = static_cast<std::uint32_t>(
        (std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by) / by + 1);
  }

#ifdef __CUDACC__
  __host__ __device__
#endif
      std::uint32_t
      divide(std::uint32_t number) const {
    const auto high =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(number) * multiplier) >> 32);
    return (high + number) >> shift;
  }
};

}  // namespace headwise::cuda
