#pragma once

#include <cstdint>

#include "cuda/paging/key_loads.cuh"

namespace headwise::cuda {

/// Streams tiles of keys through shared memory. With places for two tiles (kTiles) K and V of the
/// next one come in beside a tile's first product, at one barrier a tile; with places for one, V of
/// the tile beside the first and K of the next beside the second. The copies start where the caller
/// has other instructions to put beside them. The block table is looked up two tiles ahead of its
/// copies.
template <int kThreads, int kKeys, int kKRow, int kVRow, int kElement, int kTiles,
          bool kTokenScales>
class TilePipeline : public KeyLoads<kThreads, kKeys, kKRow, kVRow, kElement, kTokenScales> {
  using Loads = KeyLoads<kThreads, kKeys, kKRow, kVRow, kElement, kTokenScales>;

 public:
  static_assert(kTiles == 1 || kTiles == 2);

  /// q may be copied behind it: what was copied before the first acquire_keys() is there then.
  __device__ __forceinline__ TilePipeline(const StepArgs& args, std::uint32_t range,
                                          std::uint32_t ring, std::uint32_t rows)
      : Loads(args, range, ring, rows) {
    note(0, look_up(0));
    note(1, look_up(1));
    page_ = look_up(2);
    __syncthreads();
    this->template load_keys<false>(0, 0);
    if constexpr (kTiles == 2) this->template load_values<false>(0, 1);
  }

  /// K, then V of a tile, which stay until K of the next one. To be called for the tiles in order,
  /// each with its fetch, then release(). Synchronises the block where there was something to wait
  /// for.
  __device__ __forceinline__ std::uint32_t acquire_keys(int tile) {
    wait();
    keys_slot_ = slot_of_keys(tile);
    return ring_ + keys_slot_ * Loads::kSlotBytes;
  }
  __device__ __forceinline__ std::uint32_t acquire_values(int) {
    if constexpr (kTiles == 1) wait();
    return ring_ + (keys_slot_ + 1) * Loads::kSlotBytes;
  }
  /// i8: of the tile acquired last, [K and V, kKeys] floats in shared memory.
  __device__ __forceinline__ std::uint32_t scales() const { return scales_of(keys_slot_); }

  /// Starts the next copies. Behind the last tile they write zeros. kChunks: rows are known to be
  /// of 16-byte chunks.
  template <bool kChunks>
  __device__ __forceinline__ void fetch_beside_keys(int tile) {
    if constexpr (kTiles == 2) this->template load_keys<kChunks>(tile + 1, slot_of_keys(tile + 1));
    const int next = tile + kTiles - 1;
    this->template load_values<kChunks>(next, slot_of_keys(next) + 1);
  }
  template <bool kChunks>
  __device__ __forceinline__ void fetch_beside_values(int tile) {
    if constexpr (kTiles == 1) this->template load_keys<kChunks>(tile + 1, 0);
  }

  /// When `tile` is done with.
  __device__ __forceinline__ void release(int tile) {
    note(tile + 2, page_);
    page_ = look_up(tile + 3);
  }

 private:
  using Loads::look_up, Loads::note, Loads::scales_of;
  using Loads::page_, Loads::ring_;

  __device__ __forceinline__ static int slot_of_keys(int tile) { return tile % kTiles * 2; }

  __device__ __forceinline__ void wait() {
    ptx::cp_async_wait_all();
    __syncthreads();
  }

  int keys_slot_ = 0;
};

}  // namespace headwise::cuda
