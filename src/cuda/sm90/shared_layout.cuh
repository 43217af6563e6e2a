#pragma once

#include <cstdint>

#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/schedule/work_item.h"
#include "cuda/step/item_view.cuh"

namespace headwise::cuda::sm90 {

/// An item as the producer hands it over.
struct HandedItem {
  ItemView view;
  Visible visible;  ///< to all of its rows
  Split split;      ///< that it is a part of, if it is one
};

/// What a block's dynamic shared memory holds.
template <class Config>
struct SharedLayout {
  char* base;             ///< a multiple of 1024
  std::uint32_t address;  ///< the same, as instructions take it

  __device__ explicit SharedLayout(char* memory)
      : base(memory), address(ptx::shared_address(memory)) {}

  __device__ std::uint32_t keys(int stage) const { return address + stage * Config::kStageBytes; }
  __device__ std::uint32_t values(int stage) const { return keys(stage) + Config::kKBytes; }
  __device__ std::uint32_t queries() const { return address + Config::kQueries; }
  __device__ std::uint32_t row_scales() const {
    if constexpr (Config::k8Bit)
      return address + Config::kRowScales;
    else
      return 0;
  }
  __device__ float* results() const { return reinterpret_cast<float*>(base + Config::kResults); }
  /// [key warps, rows]: references and sums.
  __device__ float2* stats() const { return reinterpret_cast<float2*>(base + Config::kStats); }
  __device__ HandedItem& item(int place) const {
    return reinterpret_cast<HandedItem*>(base + Config::kViews)[place];
  }
  // Barriers: a stage's keys or values have come, are done with; an item has come, is done with.
  __device__ std::uint32_t keys_full(int stage) const { return barrier(stage); }
  __device__ std::uint32_t values_full(int stage) const { return barrier(12 + stage); }
  __device__ std::uint32_t keys_empty(int stage) const { return barrier(24 + stage); }
  __device__ std::uint32_t values_empty(int stage) const { return barrier(36 + stage); }
  __device__ std::uint32_t item_full(int place) const { return barrier(48 + place); }
  __device__ std::uint32_t item_empty(int place) const { return barrier(50 + place); }

  /// By one thread.
  __device__ void init_barriers() const {
    for (int i = 0; i < Config::kStages; ++i) {
      ptx::mbarrier_init(keys_full(i), 1);
      ptx::mbarrier_init(values_full(i), 1);
      ptx::mbarrier_init(keys_empty(i), Config::kTakers);
      ptx::mbarrier_init(values_empty(i), Config::kTakers);
    }
    for (int i = 0; i < 2; ++i) {
      ptx::mbarrier_init(item_full(i), 1);
      ptx::mbarrier_init(item_empty(i), Config::kWarps);
    }
    ptx::mbarrier_init_fence();
  }

 private:
  static_assert(sizeof(HandedItem) % 8 == 0 && 2 * sizeof(HandedItem) <= 480 &&
                Config::kStages <= 12 && Config::kViews % 16 == 0);

  __device__ std::uint32_t barrier(int index) const {
    return address + Config::kViews + 480 + index * 8;
  }
};

/// Places of a ring, with the parity of the round.
template <int kPlaces>
struct RingPlace {
  int index = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++index == kPlaces) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace headwise::cuda::sm90
