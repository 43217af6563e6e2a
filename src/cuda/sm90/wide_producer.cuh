#pragma once

#include <cstdint>

#include "cuda/sm90/group_tiles.cuh"
#include "cuda/sm90/key_producer.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step_args.h"

namespace headwise::cuda::sm90 {

/// The warp that hands a block its items of many rows and brings their keys: those of its share, or,
/// where there are no shares, of the schedule's queue. Items that failed are handed over once more,
/// when there is nothing else to do.
template <class Config>
class WideProducer {
 public:
  __device__ __forceinline__ WideProducer(const KeyMaps& maps, const StepArgs& args,
                                          const SharedLayout<Config>& shared)
      : args_(args), shared_(shared), keys_(maps, args, shared), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run() {
    if (shares()) {
      next_ = args_.block_begin[blockIdx.x];
      end_ = args_.block_begin[blockIdx.x + 1];
    } else {
      next_ = static_cast<int>(blockIdx.x);
      end_ = args_.counts->items;
    }
    while (const HandedItem* item = hand_over()) {
      keys_.bring_keys(item->view);
      // No earlier: while long items are under way others may end.
      if (!item->careful) next_ = shares() ? next_ + 1 : claim();
    }
    if (!shares()) leave_queue();
    HandedItem& end = shared_.item(place_.index());
    if (lane_ != 0) return;
    end.warps = 0;
    ptx::mbarrier_arrive(shared_.item_full(place_.index()));
  }

 private:
  static constexpr int kMostAgain = 32;  ///< a lane each
  static constexpr std::uint32_t kAllWarps = (1U << Config::kWarps) - 1;

  __device__ __forceinline__ bool shares() const { return args_.block_begin != nullptr; }

  /// The share's or the queue's next one, and those that failed when there is no other; null: none
  /// is left.
  __device__ __forceinline__ const HandedItem* hand_over() {
    settle(place_);
    if (next_ >= end_) {
      RingPlace<kItemPlaces> other = place_;
      other.advance();
      settle(other);
    }
    int index = next_;
    std::uint32_t warps = kAllWarps;
    const bool again = again_ > (next_ < end_ ? kMostAgain - kItemPlaces : 0);
    if (again) {
      --again_;
      index = __shfl_sync(~0U, again_index_, again_);
      warps = __shfl_sync(~0U, again_warps_, again_);
    } else if (next_ >= end_) {
      return nullptr;
    }
    HandedItem& item = shared_.item(place_.index());
    if (lane_ == 0) {
      keys_.set_item(args_.items[index], item);
      item.index = index;
      item.warps = warps;
      item.careful = again;
      item.last = !again && is_last(index);
    }
    __syncwarp();
    if (lane_ < Config::kGroups) item.tiles[lane_] = tiles_of_group<Config>(args_, item, lane_);
    __syncwarp();
    if (lane_ == 0) ptx::mbarrier_arrive(shared_.item_full(place_.index()));
    place_.advance();
    return &item;
  }

  __device__ __forceinline__ bool is_last(int index) const {
    if (shares()) return index + 1 == end_;
    return end_ - index <= static_cast<int>(gridDim.x);
  }

  /// Waits until the item in a place is done with, and notes whether it failed.
  __device__ __forceinline__ void settle(const RingPlace<kItemPlaces>& place) {
    ptx::mbarrier_wait(shared_.item_empty(place.index()), place.parity() ^ 1);
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

  /// The queue's counter is the launch's before this one until that is complete.
  __device__ __forceinline__ int claim() {
    keys_.wait_for_new();
    int index = 0;
    if (lane_ == 0) index = static_cast<int>(atomicAdd(args_.next_item, 1U) + gridDim.x);
    return __shfl_sync(~0U, index, 0);
  }

  /// The last block to leave makes the queue ready for the next launch.
  __device__ __forceinline__ void leave_queue() {
    keys_.wait_for_new();
    if (lane_ != 0 || ptx::count_up(args_.blocks_done) + 1 < gridDim.x) return;
    *args_.next_item = 0;
    *args_.blocks_done = 0;
  }

  const StepArgs& args_;
  const SharedLayout<Config>& shared_;
  KeyProducer<Config> keys_;
  const int lane_;
  RingPlace<kItemPlaces> place_;
  int next_ = 0;
  int end_ = 0;
  int again_ = 0;  // items that failed: lane i's is the i-th
  int again_index_ = 0;
  std::uint32_t again_warps_ = 0;
};

}  // namespace headwise::cuda::sm90
