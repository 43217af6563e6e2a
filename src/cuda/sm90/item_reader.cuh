#pragma once

#include <cstdint>

#include "cuda/ptx/mbarrier.cuh"
#include "cuda/sm90/shared_layout.cuh"

namespace headwise::cuda::sm90 {

/// An item that a block was handed, as a warpgroup reads it: where it lies, and no more, since
/// registers are for sums. What it returns is the same in all lanes.
template <class Config>
class GroupItem {
 public:
  __device__ __forceinline__ GroupItem(const SharedLayout<Config>& shared, int group)
      : shared_(shared), group_(group) {}

  /// Waits until it is there. Its queries may still be on their way.
  __device__ __forceinline__ void await() const {
    ptx::mbarrier_wait(shared_.item_full(place_.index()), place_.parity());
  }
  /// Also where they are not needed: the loader has to have seen the item.
  __device__ __forceinline__ void await_queries() const {
    ptx::mbarrier_wait(shared_.queries_full(queries_.index()), queries_.parity());
  }

  __device__ __forceinline__ HandedItem& handed() const { return shared_.item(place_.index()); }
  __device__ __forceinline__ bool is_end() const {
    return uniform(static_cast<int>(handed().is_end)) != 0;
  }
  /// Some of the group's rows.
  __device__ __forceinline__ bool is_wanted() const {
    const std::uint32_t warps = uniform(handed().warps);
    if constexpr (Config::kSharesRows) return warps != 0;
    return (warps >> group_ * 4 & 0xfU) != 0 &&
           group_ * Config::kGroupRows < uniform(handed().view.item.rows);
  }
  __device__ __forceinline__ int count_tiles() const {
    return uniform(handed().count_tiles(Config::kKeys));
  }
  __device__ __forceinline__ GroupTiles tiles() const {
    return handed().tiles[group_].the_same_in_all_lanes();
  }
  /// In shared memory, the item's and the group's first row.
  __device__ __forceinline__ std::uint32_t all_queries() const {
    return shared_.queries(queries_.index());
  }
  __device__ __forceinline__ std::uint32_t queries() const {
    return all_queries() + (Config::kSharesRows ? 0 : group_ * Config::kGroupRows * 128);
  }

  /// Others may come.
  __device__ __forceinline__ void release_queries() const {
    release(shared_.queries_empty(queries_.index()));
  }
  __device__ __forceinline__ void release() const { release(shared_.item_empty(place_.index())); }
  __device__ __forceinline__ void advance() {
    place_.advance();
    queries_.advance();
  }

 private:
  __device__ __forceinline__ static void release(std::uint32_t barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(barrier);
  }

  const SharedLayout<Config>& shared_;
  const int group_;
  RingPlace<kItemPlaces> place_;
  RingPlace<Config::kQueryTiles> queries_;
};

}  // namespace headwise::cuda::sm90
