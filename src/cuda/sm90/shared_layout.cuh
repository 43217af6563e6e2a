#pragma once

#include <cstdint>

#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/schedule/work_item.h"
#include "cuda/step/item_view.cuh"

namespace headwise::cuda::sm90 {

/// The first lane's: a number that is the same in all lanes, and known to be.
template <class T>
__device__ __forceinline__ T uniform(T number) {
  return __shfl_sync(~0U, number, 0);
}

/// Of an item's tiles, those that matter to a warpgroup. Of the plain ones all of its rows see
/// every key, and have seen some before.
struct GroupTiles {
  int first = 0;
  int end = 0;
  int plain_first = 0;
  int plain_end = 0;

  __device__ __forceinline__ GroupTiles the_same_in_all_lanes() const {
    return {uniform(first), uniform(end), uniform(plain_first), uniform(plain_end)};
  }
};

/// An item as the producer hands it over.
struct HandedItem {
  ItemView view;
  Visible visible;  ///< to all of its rows
  Split split;      ///< that it is a part of, if it is one
  // Of many rows (wide_tile.cuh):
  GroupTiles tiles[3];       ///< of each group
  int index = 0;             ///< in the schedule
  std::uint32_t warps = 0;   ///< whose rows are wanted, by bits
  std::uint32_t failed = 0;  ///< those of which some left the range of their references
  bool careful = false;      ///< looks for each tile's largest logits
  bool is_end = false;       ///< no item is left
  bool backwards = false;    ///< the last tile comes first
  bool last = false;         ///< there is probably nothing left for the block to do

  __device__ __forceinline__ int count_tiles(int keys) const {
    return (view.range.slot_end - view.range.slot_begin + keys - 1) / keys;
  }
  /// The first key's of the tile that comes as the `tile`-th.
  __device__ __forceinline__ std::int32_t slot_of(int tile, int keys) const {
    return view.range.slot_begin + (backwards ? count_tiles(keys) - 1 - tile : tile) * keys;
  }
};

/// Fills an item in, but for what many rows need. By one thread.
template <class Config>
__device__ __forceinline__ void set_item(const StepArgs& args, const WorkItem& work,
                                         HandedItem& item) {
  if (work.split >= 0) item.split = args.splits[work.split];
  item.view.template set<Config>(args, work);
  item.visible.set(args, item.view, 0, item.view.item.rows - 1);
}

/// Places for items that were handed over and are not done with.
inline constexpr int kItemPlaces = 2;

/// What a block's dynamic shared memory holds.
template <class Config>
struct SharedLayout {
  char* base;             ///< a multiple of 1024
  std::uint32_t address;  ///< the same, as instructions take it

  __device__ explicit SharedLayout(char* memory)
      : base(memory), address(ptx::shared_address(memory)) {}

  __device__ std::uint32_t keys(int stage) const { return address + stage * Config::kStageBytes; }
  __device__ std::uint32_t values(int stage) const { return keys(stage) + Config::kKBytes; }
  /// A tile's scales of K, a float a token.
  __device__ std::uint32_t key_scales(int stage) const {
    return address + Config::kScales + stage * 2 * Config::kScaleBytes;
  }
  __device__ std::uint32_t value_scales(int stage) const {
    return key_scales(stage) + Config::kScaleBytes;
  }
  __device__ std::uint32_t queries(int tile = 0) const {
    return address + Config::kQueries + tile * Config::kRows * Config::kQRow;
  }
  __device__ std::uint32_t row_scales() const {
    if constexpr (Config::k8Bit)
      return address + Config::kRowScales;
    else
      return 0;
  }
  __device__ float* results() const { return reinterpret_cast<float*>(base + Config::kResults); }
  __device__ std::uint32_t result_rows() const { return address + Config::kResults; }
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
  __device__ std::uint32_t queries_full(int tile) const { return barrier(52 + tile); }
  __device__ std::uint32_t queries_empty(int tile) const { return barrier(54 + tile); }
  __device__ std::uint32_t item_ending(int place) const { return barrier(56 + place); }

  /// By one thread.
  __device__ void init_barriers() const {
    constexpr int kBringers = Config::kTokenScales ? 1 + 32 : 1;  // boxes', and scales'
    for (int i = 0; i < Config::kStages; ++i) {
      ptx::mbarrier_init(keys_full(i), kBringers);
      ptx::mbarrier_init(values_full(i), kBringers);
      ptx::mbarrier_init(keys_empty(i), Config::kTakers);
      ptx::mbarrier_init(values_empty(i), Config::kTakers);
    }
    for (int i = 0; i < kItemPlaces; ++i) {
      item(i).failed = 0;
      item(i).is_end = false;
      ptx::mbarrier_init(item_full(i), 1);
      ptx::mbarrier_init(item_empty(i), Config::kItemReaders);
    }
    if constexpr (Config::kQueriesInBoxes) {
      for (int i = 0; i < Config::kQueryTiles; ++i) {
        ptx::mbarrier_init(queries_full(i), Config::kLoaders);
        ptx::mbarrier_init(queries_empty(i), Config::kWarps);
      }
      for (int i = 0; i < kItemPlaces; ++i) ptx::mbarrier_init(item_ending(i), 1);
    }
    ptx::mbarrier_init_fence();
  }

 private:
  static constexpr int kItemBytes = 640;
  static_assert(sizeof(HandedItem) % 8 == 0 && kItemPlaces * sizeof(HandedItem) <= kItemBytes &&
                Config::kStages <= 12 && Config::kViews % 16 == 0);

  __device__ std::uint32_t barrier(int index) const {
    return address + Config::kViews + kItemBytes + index * 8;
  }
};

/// Places of a ring, with the parity of the round: one register, and no division.
template <int kPlaces>
class RingPlace {
 public:
  __device__ __forceinline__ int index() const { return packed_ >> 1; }
  __device__ __forceinline__ std::uint32_t parity() const { return packed_ & 1; }

  __device__ __forceinline__ void advance() {
    packed_ += 2;
    if (packed_ >= 2 * kPlaces) packed_ = (packed_ ^ 1) - 2 * kPlaces;
  }

 private:
  int packed_ = 0;
};

}  // namespace headwise::cuda::sm90
