#pragma once

#include <cstdint>

#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/sm90/copy_elements.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/tensor_maps.h"
#include "cuda/step_args.h"

namespace headwise::cuda::sm90 {

/// With so many of an item's tiles still to be brought the next item is claimed.
inline constexpr int kTilesToClaimIn = 4;

/// The warp that brings the keys of a block's items, tile after tile. A lane copies a box: a page,
/// or a part of one. Lanes look the block table up for 32 boxes at a time, one such look-up ahead:
/// when memory is busy an answer takes longer than a tile.
///
/// It begins before the launch before this one is complete, and waits for it before it reads what
/// that launch may have written: K and V of the step's new tokens.
template <class Config>
class KeyProducer {
 public:
  __device__ __forceinline__ KeyProducer(const TensorMaps& maps, const StepArgs& args,
                                         const SharedLayout<Config>& shared)
      : maps_(maps), args_(args), shared_(shared), lane_(threadIdx.x % 32) {}

  /// Items first ... end - 1, which it hands over itself.
  __device__ __forceinline__ void run(int first, int end) {
    RingPlace<kItemPlaces> place;
    for (int i = first; i < end; ++i) {
      ptx::mbarrier_wait(shared_.item_empty(place.index()), place.parity() ^ 1);
      HandedItem& item = shared_.item(place.index());
      if (lane_ == 0) {
        set_item<Config>(args_, args_.items[i], item);
        ptx::mbarrier_arrive(shared_.item_full(place.index()));
      }
      __syncwarp();
      bring_keys(item.view);
      place.advance();
    }
  }

  /// Those that another warp hands over, until one has no rows.
  __device__ __forceinline__ void run() {
    RingPlace<kItemPlaces> place;
    for (;;) {
      ptx::mbarrier_wait(shared_.item_full(place.index()), place.parity());
      const HandedItem& item = shared_.item(place.index());
      if (item.is_end) break;
      bring_keys(item.view, item.backwards, shared_.item_ending(place.index()));
      __syncwarp();
      if (lane_ == 0) ptx::mbarrier_arrive(shared_.item_empty(place.index()));
      place.advance();
    }
  }

 private:
  /// Arrives at `ending`, if there is such a barrier, ahead of one of the last tiles.
  __device__ __forceinline__ void bring_keys(const ItemView& view, bool backwards = false,
                                             std::uint32_t ending = 0) {
    const KeyRange range = view.range;
    const std::int32_t first_new = view.item.kv_len - view.item.q_len;
    if (maps_.box_tokens == 0) wait_for_new();
    const int count = (range.slot_end - range.slot_begin + Config::kKeys - 1) / Config::kKeys;
    const std::int32_t step = backwards ? -Config::kKeys : Config::kKeys;
    std::int32_t slot = range.slot_begin + (backwards ? max(0, count - 1) * Config::kKeys : 0);
    const std::int32_t window = 32 * maps_.box_tokens;
    const std::int32_t to_next = backwards ? -window : window;
    std::int32_t boxes_from = range.slot_begin;
    if (backwards && window > 0) boxes_from += (slot - range.slot_begin) / window * window;
    Box box = look_up(range, boxes_from);
    Box next = look_up(range, boxes_from + to_next);
    for (int left = count; left > 0; --left, slot += step) {
      if (left == kTilesToClaimIn && ending != 0 && lane_ == 0) ptx::mbarrier_arrive(ending);
      if (slot + Config::kKeys > first_new) wait_for_new();
      if (maps_.box_tokens == 0) {
        bring_elements(view.range, slot);
      } else {
        if (slot < boxes_from || slot >= boxes_from + window) {
          boxes_from += to_next;
          box = next;
          next = look_up(range, boxes_from + to_next);
        }
        bring_boxes(range, box, boxes_from + lane_ * maps_.box_tokens - slot);
      }
      stage_.advance();
    }
    if (count < kTilesToClaimIn && ending != 0 && lane_ == 0) ptx::mbarrier_arrive(ending);
  }

  /// Waits for the launches before this one, once.
  __device__ __forceinline__ void wait_for_new() {
    if (!waited_) ptx::wait_for_launches_before();
    waited_ = true;
  }

  /// Where a box lies.
  struct Box {
    std::int32_t page = -1;  ///< negative: no row sees any of its keys
    std::int32_t token = 0;
  };

  /// The lane's box of the 32 from slot `first` on.
  __device__ __forceinline__ Box look_up(const KeyRange& range, std::int32_t first) const {
    const std::int32_t tokens = maps_.box_tokens;
    const std::int32_t slot = first + lane_ * tokens;
    if (slot < range.slot_begin || slot >= range.slot_end) return {};
    const std::uint32_t entry = args_.page_size.divide(slot);
    const std::int32_t inside = slot - static_cast<std::int32_t>(entry * args_.page_size.divisor);
    const std::int64_t at = range.table_row + entry;
    const std::int64_t position =  // the box's end may lie beyond 2^31
        args_.positions == nullptr ? slot : std::int64_t{__ldcg(args_.positions + at)} + inside;
    if (position > range.last_seen || position + (tokens - 1) < range.first_seen) return {};
    if (args_.pages == nullptr) return {0, static_cast<std::int32_t>(range.kv_start) + slot};
    return {__ldcg(args_.pages + at), inside};
  }

  /// The tile's boxes: those of the lanes whose keys `key` are in it.
  __device__ __forceinline__ void bring_boxes(const KeyRange& range, const Box& box,
                                              int key) const {
    const int stage = stage_.index();
    const bool copies = box.page >= 0 && key >= 0 && key < Config::kKeys;
    const int bytes = __popc(__ballot_sync(~0U, copies)) * maps_.box_tokens * 128;
    ptx::mbarrier_wait(shared_.keys_empty(stage), stage_.parity() ^ 1);
    const std::uint32_t keys_full = shared_.keys_full(stage);
    if (lane_ == 0) ptx::mbarrier_expect(keys_full, bytes * Config::kKBoxes);
    __syncwarp();
    if (copies)
      copy_boxes<Config::kKBoxes>(shared_.keys(stage) + key * 128, &maps_.k, keys_full, range, box);
    ptx::mbarrier_wait(shared_.values_empty(stage), stage_.parity() ^ 1);
    const std::uint32_t values_full = shared_.values_full(stage);
    if (lane_ == 0) ptx::mbarrier_expect(values_full, bytes * Config::kVBoxes);
    __syncwarp();
    if (copies)
      copy_boxes<Config::kVBoxes>(shared_.values(stage) + key * 128, &maps_.v, values_full, range,
                                  box);
  }

  template <int kBoxes>
  __device__ __forceinline__ static void copy_boxes(std::uint32_t to, const CUtensorMap* map,
                                                    std::uint32_t full, const KeyRange& range,
                                                    const Box& box) {
#pragma unroll
    for (int i = 0; i < kBoxes; ++i)
      ptx::copy_box(to + i * Config::kKeys * 128, map, full, i * (128 / Config::kElement),
                    box.token, range.kv_head, box.page);
  }

  __device__ __forceinline__ void bring_elements(const KeyRange& range, std::int32_t slot) const {
    const int stage = stage_.index();
    ptx::mbarrier_wait(shared_.keys_empty(stage), stage_.parity() ^ 1);
    ptx::mbarrier_wait(shared_.values_empty(stage), stage_.parity() ^ 1);
    copy_elements<Config>(args_, range, slot, shared_.keys(stage));
    if (lane_ != 0) return;
    ptx::mbarrier_arrive(shared_.keys_full(stage));
    ptx::mbarrier_arrive(shared_.values_full(stage));
  }

  const TensorMaps& maps_;
  const StepArgs& args_;
  const SharedLayout<Config>& shared_;
  const int lane_;
  RingPlace<Config::kStages> stage_;
  bool waited_ = false;
};

}  // namespace headwise::cuda::sm90
