#pragma once

#include <climits>
#include <cstdint>

#include "cuda/paging/key_pipeline.cuh"
#include "cuda/sm80/step_args.h"

namespace headwise::cuda::sm80 {

/// Positions first ... last that a row sees.
struct Seen {
  std::int32_t first;
  std::int32_t last;
};

/// An item and its request, with the lengths that hold on the device. One thread makes it, in
/// shared memory: registers are for sums.
struct ItemView {
  WorkItem item;
  RequestInfo request;
  KeyRange range;  ///< the keys to read: those that some row of the item sees, as far as slots tell

  __device__ void set(const StepArgs& args, const WorkItem& work, int narrow_rows, int narrow_keys,
                      int wide_keys) {
    item = work;
    request = args.requests[work.request];
    if (args.q_lens != nullptr) request.q_len = args.q_lens[work.request];
    if (args.kv_lens != nullptr) request.kv_len = args.kv_lens[work.request];
    if (args.q_start != nullptr)
      request.q_start = args.q_start[work.request];
    else if (args.q_lens != nullptr || args.kv_lens != nullptr)
      request.q_start = request.kv_len - request.q_len;
    const int rows_there = request.q_len * args.group - item.row;
    item.rows = max(0, min(item.rows, rows_there));
    range = keys(args, item.rows <= narrow_rows ? narrow_keys : wide_keys);
  }

  __device__ int token_of(const StepArgs& args, int row) const {
    return (item.row + row) / args.group;
  }
  __device__ int head_of(const StepArgs& args, int row) const {
    return item.kv_head * args.group + (item.row + row) % args.group;
  }
  __device__ std::int32_t position_of(const StepArgs& args, int row) const {
    return request.q_start + token_of(args, row);
  }

  __device__ static Seen seen_from(const StepArgs& args, std::int32_t first, std::int32_t last) {
    const auto clamped = [](long long position) {
      return static_cast<std::int32_t>(
          max(static_cast<long long>(INT_MIN), min(static_cast<long long>(INT_MAX), position)));
    };
    return {
        args.window_left < 0 ? INT_MIN : clamped(static_cast<long long>(first) - args.window_left),
        args.window_right < 0 ? INT_MAX
                              : clamped(static_cast<long long>(last) + args.window_right)};
  }

  /// What rows first ... last of the item see, all together.
  __device__ Seen seen_by_rows(const StepArgs& args, int first, int last) const {
    return seen_from(args, position_of(args, first), position_of(args, last));
  }

  /// Where slot `slot` stands.
  __device__ std::int32_t position_of_slot(const StepArgs& args, std::int32_t slot) const {
    if (args.positions == nullptr) return slot;
    const std::uint32_t entry = args.page_size.divide(slot);
    return args.positions[range.table_row + entry] +
           (slot - static_cast<std::int32_t>(entry * args.page_size.divisor));
  }

 private:
  __device__ KeyRange keys(const StepArgs& args, int tile_keys) const {
    const Seen by_request = seen_from(args, request.q_start, request.q_start + request.q_len - 1);
    KeyRange all;
    all.slot_begin = item.slot_begin;
    all.slot_end = min(item.slot_end, request.kv_len);
    all.first_seen = by_request.first;
    all.last_seen = by_request.last;
    all.kv_start = request.kv_start;
    all.kv_head = item.kv_head;
    all.table_row = item.request * args.table_request + item.kv_head * args.table_head;
    if (args.positions == nullptr && item.rows > 0) {
      const Seen seen = seen_by_rows(args, 0, item.rows - 1);
      if (seen.last < all.slot_end) all.slot_end = seen.last + 1;
      if (seen.first > all.slot_begin)
        all.slot_begin += (seen.first - all.slot_begin) / tile_keys * tile_keys;
    }
    if (item.rows == 0 || all.slot_end < all.slot_begin) all.slot_end = all.slot_begin;
    return all;
  }
};

}  // namespace headwise::cuda::sm80
