#pragma once

#include <cstdint>

#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/ptx/math.cuh"
#include "cuda/sm90/group_tiles.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step_args.h"

namespace headwise::cuda::sm90 {

/// The warp that hands a block its items of many rows, one ahead of those that take keys: those of
/// its share, or, where there are no shares, of the schedule's queue. Items that failed are handed
/// over once more, when there is nothing else to do.
template <class Config>
class ItemScheduler {
 public:
  __device__ __forceinline__ ItemScheduler(const StepArgs& args, const SharedLayout<Config>& shared)
      : args_(args), shared_(shared), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run() {
    begin();
    for (;;) {
      settle(place_);
      if (again_ > kMostAgain - kItemPlaces) {
        hand_over_again();
        continue;
      }
      const int index = take_next();
      if (index >= end_) break;
      hand_over(index, kAllWarps, false);
    }
    hand_over_nothing();
    settle(place_);
    for (; again_ > 0; settle(place_)) hand_over_again();
    if (!shares_) leave_queue();
    if (lane_ != 0) return;
    shared_.item(place_.index()).is_end = true;
    ptx::mbarrier_arrive(shared_.item_full(place_.index()));
  }

 private:
  static constexpr int kMostAgain = 32;  ///< a lane each
  static constexpr std::uint32_t kAllWarps = (1U << Config::kWarps) - 1;
  static_assert(kItemPlaces == 2);

  __device__ __forceinline__ void begin() {
    const ScheduleCounts counts = *args_.counts;  // all read at once
    const std::int32_t share_begin = args_.block_begin[blockIdx.x];
    const std::int32_t share_end = args_.block_begin[blockIdx.x + 1];
    shares_ = counts.shares != 0;
    next_ = shares_ ? share_begin : static_cast<int>(blockIdx.x);
    end_ = shares_ ? share_end : counts.items;
  }

  /// Waits until the item in a place is done with, and notes whether it failed.
  __device__ __forceinline__ void settle(const RingPlace<kItemPlaces>& place) {
    ptx::mbarrier_wait(shared_.item_empty(place.index()), place.parity() ^ 1);
    // Long since complete, but no phase is to begin before somebody waited for the one before.
    ptx::mbarrier_wait(shared_.item_ending(place.index()), place.parity() ^ 1);
    HandedItem& item = shared_.item(place.index());
    const std::uint32_t failed = item.failed;
    const int index = item.index;
    __syncwarp();
    if (failed == 0) return;
    if (lane_ == 0) item.failed = 0;
    if (lane_ == again_) {
      again_index_ = index;
      again_warps_ = failed;
    }
    ++again_;
    __syncwarp();
  }

  /// The first one is known; the queue's others have to be claimed.
  __device__ __forceinline__ int take_next() {
    if (next_ < 0) {
      // No earlier: while long items are under way others may end.
      ptx::mbarrier_wait(shared_.item_ending(handed_.index()), handed_.parity());
      next_ = claim();
    }
    const int index = next_;
    if (index < end_) next_ = shares_ ? index + 1 : -1;
    return index;
  }

  __device__ __forceinline__ void hand_over_again() {
    --again_;
    hand_over(__shfl_sync(~0U, again_index_, again_), __shfl_sync(~0U, again_warps_, again_), true);
  }

  __device__ __forceinline__ void hand_over(int index, std::uint32_t warps, bool careful) {
    HandedItem& item = shared_.item(place_.index());
    if (lane_ == 0) {
      set_item<Config>(args_, args_.items[index], item);
      item.index = index;
      item.warps = warps;
      item.careful = careful;
      item.last = !careful && is_last(index);
      item.backwards = begins_at_its_end(item.view);
    }
    __syncwarp();
    if (lane_ < Config::kGroups) item.tiles[lane_] = tiles_of_group<Config>(args_, item, lane_);
    __syncwarp();
    if (lane_ == 0) ptx::mbarrier_arrive(shared_.item_full(place_.index()));
    handed_ = place_;
    place_.advance();
  }

  /// An item without rows and keys. Groups take an item before they are done with the one before,
  /// and whether that one failed decides what is next.
  __device__ __forceinline__ void hand_over_nothing() {
    HandedItem& item = shared_.item(place_.index());
    if (lane_ == 0) {
      item = {};
      ptx::mbarrier_arrive(shared_.item_full(place_.index()));
    }
    __syncwarp();
    place_.advance();
  }

  /// Where a mask ends the keys of the last tiles, rows' largest logits have to be looked for there
  /// in any case. Old keys come first: the launch before this one may still be ending. So do F16's:
  /// its range is small, and many models' largest logits are those of the first keys (Xiao et al.:
  /// Efficient Streaming Language Models with Attention Sinks, 2023, section 3.1). Where a token's
  /// bits must not depend on the step, all items go the same way.
  __device__ __forceinline__ bool begins_at_its_end(const ItemView& view) const {
    return !Config::kSharesRows && !Config::kInvariant && Config::kFormat == KvFormat::bf16 &&
           args_.window_right >= 0 && view.range.slot_begin >= view.item.kv_len - view.item.q_len;
  }

  __device__ __forceinline__ bool is_last(int index) const {
    if (shares_) return index + 1 == end_;
    return end_ - index <= static_cast<int>(gridDim.x);
  }

  /// The queue's counter is the launch's before this one until that is complete.
  __device__ __forceinline__ int claim() {
    ptx::wait_for_launches_before();
    int index = 0;
    if (lane_ == 0) index = static_cast<int>(atomicAdd(args_.next_item, 1U) + gridDim.x);
    return __shfl_sync(~0U, index, 0);
  }

  /// The last block to leave makes the queue ready for the next launch.
  __device__ __forceinline__ void leave_queue() {
    ptx::wait_for_launches_before();
    if (lane_ != 0 || ptx::count_up(args_.blocks_done) + 1 < gridDim.x) return;
    *args_.next_item = 0;
    *args_.blocks_done = 0;
  }

  const StepArgs& args_;
  const SharedLayout<Config>& shared_;
  const int lane_;
  RingPlace<kItemPlaces> place_;
  RingPlace<kItemPlaces> handed_;  // the last one's
  bool shares_ = false;            // or takes from the queue
  int next_ = 0;                   // negative: has to be claimed
  int end_ = 0;
  int again_ = 0;  // items that failed: lane i's is the i-th
  int again_index_ = 0;
  std::uint32_t again_warps_ = 0;
};

}  // namespace headwise::cuda::sm90
