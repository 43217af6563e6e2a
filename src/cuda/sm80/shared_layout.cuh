#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/ptx/shared.cuh"
#include "cuda/sm80/tile_config.h"
#include "cuda/step/item_view.cuh"
#include "cuda/tile/shared_tile.cuh"

namespace headwise::cuda::sm80 {

/// What a block's dynamic shared memory holds. Items reuse it one after the other.
template <class Config>
struct SharedLayout {
  char* base;             ///< a multiple of 128
  std::uint32_t address;  ///< the same, as instructions take it

  __device__ explicit SharedLayout(char* memory)
      : base(memory), address(opaque(ptx::shared_address(memory))) {}

  __device__ std::uint32_t queries() const { return address; }
  __device__ std::uint32_t wide_ring() const { return address + Config::kWideRows * Config::kQRow; }
  __device__ std::uint32_t wide_key_rows() const { return wide_ring() + Config::kWideRing; }
  __device__ std::uint32_t narrow_ring() const {
    return address + Config::kNarrowRows * Config::kQRow;
  }
  __device__ std::uint32_t narrow_key_rows() const { return narrow_ring() + Config::kNarrowRing; }
  __device__ std::uint32_t row_scales() const { return address + Config::kTileBytes; }
  __device__ std::uint32_t visible(int warp) const {
    return row_scales() + kVisible + warp * static_cast<int>(sizeof(Visible));
  }

  __device__ std::uint32_t key_range() const {
    return row_scales() + kView + static_cast<int>(offsetof(ItemView, range));
  }

  // For what is seldom used.

  /// Where q, K and V were, when they are done with.
  __device__ float* scratch() const { return reinterpret_cast<float*>(base); }
  __device__ ItemView& view() const { return *at<ItemView>(kView); }
  __device__ Visible& visible_of(int warp) const { return at<Visible>(kVisible)[warp]; }
  __device__ WorkItem& next_work() const { return *at<WorkItem>(kNextWork); }
  __device__ ScheduleCounts& counts() const { return *at<ScheduleCounts>(kCounts); }
  __device__ volatile int* item_there() const { return at<int>(1020); }

 private:
  static constexpr int kView = 576;
  static constexpr int kVisible = 832;
  static constexpr int kNextWork = 896;
  static constexpr int kCounts = 960;
  static_assert(sizeof(ItemView) <= kVisible - kView && sizeof(Visible) == 16 &&
                Config::kWideRows * 4 <= kView);

  template <class T>
  __device__ T* at(int offset) const {
    return reinterpret_cast<T*>(base + Config::kTileBytes + offset);
  }
};

}  // namespace headwise::cuda::sm80
