#pragma once

#include <cstdint>

#include "cuda/paging/key_loads.cuh"

namespace headwise::cuda {

/// Streams tiles of keys through a ring in shared memory: K of tile 0, V of tile 0, K of tile 1 and
/// so on, kSlots - 1 of them under way. The block table is looked up a tile ahead of its copies.
template <int kThreads, int kKeys, int kKRow, int kVRow, int kElement, int kSlots,
          bool kTokenScales>
class KeyPipeline : public KeyLoads<kThreads, kKeys, kKRow, kVRow, kElement, kTokenScales> {
  using Loads = KeyLoads<kThreads, kKeys, kKRow, kVRow, kElement, kTokenScales>;

 public:
  static_assert(kSlots >= 2 && kSlots <= 5);

  __device__ __forceinline__ KeyPipeline(const StepArgs& args, std::uint32_t range,
                                         std::uint32_t ring, std::uint32_t rows)
      : Loads(args, range, ring, rows) {
    note(0, look_up(0));
    page_ = look_up(1);
    note(1, page_);
    __syncthreads();
#pragma unroll
    for (int load = 0; load < kLag; ++load) issue(load, load);
    if (kLag >= 3) {
      __syncthreads();
      page_ = look_up(2);
      note(2, page_);
    }
  }

  /// K or V of a tile, which stays until the next call. To be called for the tiles in order, K
  /// before V. Synchronises the block.
  __device__ __forceinline__ std::uint32_t acquire_keys(int tile) { return acquire<0>(tile); }
  __device__ __forceinline__ std::uint32_t acquire_values(int tile) { return acquire<1>(tile); }

  /// i8: scales of the keys acquired last, [K and V, kKeys] floats in shared memory.
  __device__ __forceinline__ std::uint32_t scales() const { return scales_of(before(slot_)); }

 private:
  using Loads::load_keys, Loads::load_values, Loads::look_up, Loads::note, Loads::scales_of;
  using Loads::page_, Loads::ring_, Loads::tiles_;

  static constexpr int kLag = kSlots - 1;  // loads under way

  __device__ __forceinline__ static int before(int slot) {
    return slot == 0 ? kSlots - 1 : slot - 1;
  }

  /// Load number 2 * tile + kHalf. Behind it goes load number + kLag; when that is of K, the rows
  /// of the tile after its own are looked up, and written down one call later.
  template <int kHalf>
  __device__ __forceinline__ std::uint32_t acquire(int tile) {
    constexpr bool kLookUp = (kHalf + kLag) % 2 == 0;
    if constexpr (!kLookUp) note((2 * tile + kHalf - 1 + kLag) / 2 + 1, page_);
    ptx::cp_async_wait<kLag - 1>();
    __syncthreads();
    const int load = 2 * tile + kHalf + kLag;
    issue(load, before(slot_));
    if constexpr (kLookUp) page_ = look_up(load / 2 + 1);
    const std::uint32_t slot = ring_ + slot_ * Loads::kSlotBytes;
    slot_ = slot_ + 1 == kSlots ? 0 : slot_ + 1;
    return slot;
  }

  /// Starts a load into `slot`, or an empty group behind the last one.
  __device__ __forceinline__ void issue(int load, int slot) {
    const int tile = load / 2;
    if (tile < tiles_) {
      if (load % 2 == 0)
        load_keys(tile, slot);
      else
        load_values(tile, slot);
    }
    ptx::cp_async_commit();
  }

  int slot_ = 0;  // that acquire() gives next
};

}  // namespace headwise::cuda
