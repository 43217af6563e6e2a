#pragma once

#include <climits>
#include <cstdint>

#include "cuda/paging/key_range.h"
#include "cuda/ptx/shared.cuh"
#include "cuda/step_args.h"

namespace headwise::cuda {

/// Positions first ... last that a row sees.
struct Seen {
  std::int32_t first;
  std::int32_t last;
};

/// An item and its request, with the lengths that hold on the device. One thread makes it, in
/// shared memory: registers are for sums. Rows of a shared prefix see all of its keys.
struct ItemView {
  WorkItem item;
  KeyRange range;  ///< the keys to read: those that some row of the item sees, as far as slots tell

  template <class Config>
  __device__ void set(const StepArgs& args, const WorkItem& work) {
    item = work;
    if (shares_prefix()) return set_shared(args);
    if (args.q_lens != nullptr) item.q_len = args.q_lens[item.request];
    if (args.kv_lens != nullptr) item.kv_len = args.kv_lens[item.request];
    if (args.q_start != nullptr)
      item.q_start = args.q_start[item.request];
    else if (args.q_lens != nullptr || args.kv_lens != nullptr)
      item.q_start = item.kv_len - item.q_len;
    const int rows_there = item.q_len * static_cast<int>(args.group.divisor) - item.row;
    item.rows = max(0, min(item.rows, rows_there));
    range = keys(args, is_narrow<Config>() ? Config::kNarrowKeys : Config::kWideKeys);
  }

  /// Where a token's bits must not depend on the step, all rows go one way.
  template <class Config>
  __device__ bool is_narrow() const {
    return !Config::kInvariant && item.rows <= Config::kNarrowRows;
  }

  __device__ bool shares_prefix() const { return item.is_prefix != 0; }

  /// Of the request's new tokens, or of those that share the prefix.
  __device__ int token_of(const StepArgs& args, int row) const {
    return static_cast<int>(args.group.divide(item.row + row));
  }
  /// Of the step's.
  __device__ std::int64_t step_token_of(const StepArgs& args, int row) const {
    const std::int64_t token = item.first_token + token_of(args, row);
    return shares_prefix() ? args.shared_tokens[token].token : token;
  }
  __device__ int head_of(const StepArgs& args, int row) const {
    const int group = static_cast<int>(args.group.divisor);
    return (item.kv_head - token_of(args, row)) * group + item.row + row;
  }
  __device__ std::int32_t position_of(const StepArgs& args, int row) const {
    return item.q_start + token_of(args, row);
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
  /// Reads the table of a request that has new tokens on the device: others' may hold anything.
  __device__ void set_shared(const StepArgs& args) {
    if (args.q_lens != nullptr) {
      const SharedToken* tokens = args.shared_tokens + item.first_token;
      const int end = token_of(args, item.rows - 1) + 1;
      int live = token_of(args, 0);
      while (live < end && args.q_lens[tokens[live].request] == 0) ++live;
      if (live < end)
        item.request = tokens[live].request;
      else
        item.rows = 0;
    }
    range = base_of_keys(args);
    range.slot_begin = item.slot_begin;
    range.slot_end = item.rows > 0 ? item.slot_end : item.slot_begin;
    range.first_seen = INT_MIN;
    range.last_seen = INT_MAX;
  }

  __device__ KeyRange base_of_keys(const StepArgs& args) const {
    KeyRange base;
    base.kv_start = args.pages == nullptr ? item.kv_start : 0;
    base.k_base = item.kv_head * args.k.head + base.kv_start * args.k.token;
    base.v_base = item.kv_head * args.v.head + base.kv_start * args.v.token;
    base.kv_head = item.kv_head;
    base.table_row = item.request * args.table_request + item.kv_head * args.table_head;
    return base;
  }

  __device__ KeyRange keys(const StepArgs& args, int tile_keys) const {
    const Seen by_request = seen_from(args, item.q_start, item.q_start + item.q_len - 1);
    KeyRange all = base_of_keys(args);
    all.slot_begin = item.slot_begin;
    all.slot_end = min(item.slot_end, item.kv_len);
    all.first_seen = by_request.first;
    all.last_seen = by_request.last;
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

/// What some rows of an item see of tiles of keys: slots that a row may see, and that every row
/// sees.
struct Visible {
  std::int32_t any_first, any_last;
  std::int32_t all_first, all_last;

  /// For rows first ... last of the item, as far as there are.
  __device__ void set(const StepArgs& args, const ItemView& view, int first, int last) {
    last = min(last, view.item.rows - 1);
    *this = {INT_MAX, INT_MIN, INT_MAX, INT_MIN};
    if (last < first) return;
    if (view.shares_prefix()) {
      *this = {INT_MIN, INT_MAX, INT_MIN, INT_MAX};
      return;
    }
    const std::int32_t low = view.position_of(args, first);
    const std::int32_t high = view.position_of(args, last);
    const Seen by_low = ItemView::seen_from(args, low, low);
    const Seen by_high = ItemView::seen_from(args, high, high);
    const bool slots_are_positions = args.positions == nullptr;
    any_first = slots_are_positions ? by_low.first : INT_MIN;
    any_last = slots_are_positions ? by_high.last : INT_MAX;
    all_first = by_high.first;
    all_last = slots_are_positions ? min(by_low.last, view.range.slot_end - 1) : INT_MIN;
  }

  __device__ __forceinline__ bool any(std::int32_t slot, int keys) const {
    return slot <= any_last && slot + (keys - 1) >= any_first;
  }
  __device__ __forceinline__ bool all(std::int32_t slot, int keys) const {
    return slot >= all_first && slot + (keys - 1) <= all_last;
  }

  /// From shared memory.
  __device__ __forceinline__ static Visible at(std::uint32_t address) {
    const int4 four = ptx::load_shared_128(address);
    return {four.x, four.y, four.z, four.w};
  }
};

}  // namespace headwise::cuda
