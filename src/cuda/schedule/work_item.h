#pragma once

#include <cstdint>

namespace headwise::cuda {

/// Where keys are cut if a token's bits must not depend on the step: at multiples of this.
inline constexpr std::int32_t kFixedSplit = 2048;

/// What a thread block does at a time: some rows of one KV head over some keys. Rows of a request
/// are its new tokens times the query heads of a group, token after token. Rows of a shared prefix
/// are those of several requests that share it, one behind the other (prefix_bundles.h).
struct WorkItem {
  std::int32_t request = 0;  ///< whose keys these are
  std::int32_t kv_head = 0;
  std::int32_t row = 0;
  std::int32_t rows = 0;
  std::int32_t slot_begin = 0;
  std::int32_t slot_end = 0;
  std::int32_t part_row = -1;  ///< its first row among the partial results; -1: these are all keys
  std::int32_t split = -1;     ///< the Split that it belongs to; shared prefix: none

  // The request's own, so that a block needs one read to begin.
  std::int64_t first_token = 0;  ///< its first new token among the step's; shared prefix: its first
                                 ///< one among the shared tokens
  std::int64_t kv_start = 0;     ///< packed: token index of its first key
  std::int32_t q_len = 0;
  std::int32_t kv_len = 0;
  std::int32_t q_start = 0;    ///< position of its first new token
  std::int32_t is_prefix = 0;  ///< 1: a shared prefix, of which every row sees all keys
};
static_assert(sizeof(WorkItem) == 64);  // four 16-byte copies

/// A new token of a request that shares a prefix.
struct SharedToken {
  std::int32_t token = 0;  ///< among the step's
  std::int32_t request = 0;
};

/// Rows of a request whose keys several items share. Part p's results start at part_row + p * rows;
/// those of part p of a shared prefix, which comes first and which a launch before has left, at
/// prefix_row + p * prefix_rows.
struct Split {
  std::int32_t part_row = 0;
  std::int32_t parts = 0;
  std::int32_t rows = 0;
  std::int32_t prefix_row = 0;
  std::int32_t prefix_parts = 0;
  std::int32_t prefix_rows = 0;
  std::int32_t item = 0;  ///< one of its parts; of a queue
};

/// What there is of a schedule.
struct ScheduleCounts {
  std::int32_t items = 0;
  std::int32_t splits = 0;
  std::int32_t split_rows = 0;  ///< of the split that has most
  std::int32_t shares = 0;      ///< 1: blocks have shares, and do not take items from a queue
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
