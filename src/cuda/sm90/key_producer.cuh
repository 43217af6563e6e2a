#pragma once

#include <cstdint>

#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/launch_overlap.cuh"
#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/sm90/copy_elements.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/tensor_maps.h"
#include "cuda/step_args.h"

namespace headwise::cuda::sm90 {

/// With so many of an item's tiles still to be brought the next item is claimed.
inline constexpr int kTilesToClaimIn = 4;

/// What a warp brings of each tile. Boxes of few tokens take a warp longer than their bytes take
/// memory.
enum class Brings { keys, values };

/// A warp that brings the keys of a block's items, or their values, tile after tile. A lane copies
/// a box: a page, or a part of one. Lanes look the block table up for 32 boxes at a time, one such
/// look-up ahead: when memory is busy an answer takes longer than a tile. Scales of tokens, which
/// may lie anywhere, are copied one by one.
///
/// It begins before the launch before this one is complete, and waits for it before it reads what
/// that launch may have written: K and V of the step's new tokens.
template <class Config, Brings kBrings>
class KeyProducer {
 public:
  __device__ __forceinline__ KeyProducer(const TensorMaps& maps, const StepArgs& args,
                                         const SharedLayout<Config>& shared)
      : maps_(maps), args_(args), shared_(shared), lane_(threadIdx.x % 32) {}

  /// Items first ... end - 1, which the warp that brings keys hands over.
  __device__ __forceinline__ void run(int first, int end) {
    RingPlace<kItemPlaces> place;
    for (int i = first; i < end; ++i) {
      if constexpr (kBringsKeys)
        hand_over(i, place);
      else
        ptx::mbarrier_wait(shared_.item_full(place.index()), place.parity());
      bring(shared_.item(place.index()).view);
      if constexpr (!kBringsKeys) release(place);
      place.advance();
    }
    if constexpr (Config::kTokenScales) ptx::cp_async_wait_all();  // before the warp ends
  }

  /// Those that another warp hands over, until one has no rows.
  __device__ __forceinline__ void run() {
    RingPlace<kItemPlaces> place;
    for (;;) {
      ptx::mbarrier_wait(shared_.item_full(place.index()), place.parity());
      const HandedItem& item = shared_.item(place.index());
      if (item.is_end) break;
      bring(item.view, item.backwards, kBringsKeys ? shared_.item_ending(place.index()) : 0);
      release(place);
      place.advance();
    }
  }

 private:
  static constexpr bool kBringsKeys = kBrings == Brings::keys;
  static constexpr int kBoxes = kBringsKeys ? Config::kKBoxes : Config::kVBoxes;

  __device__ __forceinline__ std::uint32_t full() const {
    return kBringsKeys ? shared_.keys_full(stage_.index()) : shared_.values_full(stage_.index());
  }
  __device__ __forceinline__ void await_place() const {
    const int stage = stage_.index();
    ptx::mbarrier_wait(kBringsKeys ? shared_.keys_empty(stage) : shared_.values_empty(stage),
                       stage_.parity() ^ 1);
  }
  __device__ __forceinline__ std::uint32_t tile() const {
    return kBringsKeys ? shared_.keys(stage_.index()) : shared_.values(stage_.index());
  }

  __device__ __forceinline__ std::uint32_t scales() const {
    return kBringsKeys ? shared_.key_scales(stage_.index()) : shared_.value_scales(stage_.index());
  }

  __device__ __forceinline__ void hand_over(int index, const RingPlace<kItemPlaces>& place) const {
    ptx::mbarrier_wait(shared_.item_empty(place.index()), place.parity() ^ 1);
    if (lane_ == 0) {
      set_item<Config>(args_, args_.items[index], shared_.item(place.index()));
      ptx::mbarrier_arrive(shared_.item_full(place.index()));
    }
    __syncwarp();
  }

  __device__ __forceinline__ void release(const RingPlace<kItemPlaces>& place) const {
    __syncwarp();
    if (lane_ == 0) ptx::mbarrier_arrive(shared_.item_empty(place.index()));
  }

  /// Arrives at `ending`, if there is such a barrier, ahead of one of the last tiles.
  __device__ __forceinline__ void bring(const ItemView& view, bool backwards = false,
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
    Box box = look_up(range, boxes_from, maps_.box_tokens);
    Box next = look_up(range, boxes_from + to_next, maps_.box_tokens);
    for (int left = count; left > 0; --left, slot += step) {
      if (left == kTilesToClaimIn && ending != 0 && lane_ == 0) ptx::mbarrier_arrive(ending);
      if (slot + Config::kKeys > first_new) wait_for_new();
      if (maps_.box_tokens == 0) {
        bring_elements(range, slot);
      } else {
        if (slot < boxes_from || slot >= boxes_from + window) {
          boxes_from += to_next;
          box = next;
          next = look_up(range, boxes_from + to_next, maps_.box_tokens);
        }
        bring_boxes(range, box, boxes_from, slot);
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
    std::int32_t position = 0;  ///< of its first key
  };

  /// The lane's box, of `tokens`, of the 32 from slot `first` on.
  __device__ __forceinline__ Box look_up(const KeyRange& range, std::int32_t first,
                                         std::int32_t tokens) const {
    const std::int32_t slot = first + lane_ * tokens;
    if (slot < range.slot_begin || slot >= range.slot_end) return {};
    const std::uint32_t entry = args_.page_size.divide(slot);
    const std::int32_t inside = slot - static_cast<std::int32_t>(entry * args_.page_size.divisor);
    const std::int64_t at = range.table_row + entry;
    const std::int64_t position =  // the box's end may lie beyond 2^31
        args_.positions == nullptr ? slot : std::int64_t{__ldcg(args_.positions + at)} + inside;
    if (position > range.last_seen || position + (tokens - 1) < range.first_seen) return {};
    const auto start = static_cast<std::int32_t>(position);
    if (args_.pages == nullptr) return {0, static_cast<std::int32_t>(range.kv_start) + slot, start};
    return {__ldcg(args_.pages + at), inside, start};
  }

  /// Of the lanes' boxes, which begin at slot `first`, those of the tile that begins at `slot`.
  __device__ __forceinline__ void bring_boxes(const KeyRange& range, const Box& box,
                                              std::int32_t first, std::int32_t slot) const {
    const int key = first + lane_ * maps_.box_tokens - slot;
    const bool copies = box.page >= 0 && key >= 0 && key < Config::kKeys;
    const int bytes = __popc(__ballot_sync(~0U, copies)) * maps_.box_tokens * 128;
    await_place();
    if (lane_ == 0) ptx::mbarrier_expect(full(), bytes * kBoxes);
    __syncwarp();
    if (copies) {
#pragma unroll
      for (int i = 0; i < kBoxes; ++i)
        ptx::copy_box(tile() + key * 128 + i * Config::kKeys * 128,
                      kBringsKeys ? &maps_.k : &maps_.v, full(), i * (128 / Config::kElement),
                      box.token, range.kv_head, box.page);
    }
    if constexpr (Config::kTokenScales) bring_scales(range, box, first, slot);
  }

  __device__ __forceinline__ void bring_elements(const KeyRange& range, std::int32_t slot) const {
    await_place();
    if constexpr (kBringsKeys)
      copy_elements<Config, kBoxes>(args_, range, slot, tile(), args_.k, args_.dim_qk,
                                    range.k_base);
    else
      copy_elements<Config, kBoxes>(args_, range, slot, tile(), args_.v, args_.dim_v, range.v_base);
    if constexpr (Config::kTokenScales) {
      for (int i = 0; i < Config::kKeys; i += 32)
        bring_scale(range, i + lane_, look_up(range, slot + i, 1));
      ptx::cp_async_arrive(full());
    }
    if (lane_ == 0) ptx::mbarrier_arrive(full());
  }

  /// The scales of the same tile, a lane every 32nd token's.
  __device__ __forceinline__ void bring_scales(const KeyRange& range, const Box& box,
                                               std::int32_t first, std::int32_t slot) const {
    const int bits = __ffs(maps_.box_tokens) - 1;  // a power of two
#pragma unroll
    for (int i = 0; i < Config::kKeys; i += 32) {
      const int key = i + lane_;
      const int owner = (slot + key - first) >> bits;
      const int inside = slot + key - first - (owner << bits);
      Box token{__shfl_sync(~0U, box.page, owner), __shfl_sync(~0U, box.token, owner) + inside};
      const std::int64_t position = std::int64_t{__shfl_sync(~0U, box.position, owner)} + inside;
      if (slot + key >= range.slot_end || position < range.first_seen || position > range.last_seen)
        token.page = -1;
      bring_scale(range, key, token);
    }
    ptx::cp_async_arrive(full());
  }

  /// Starts copying a token's scale; 0 where no row sees it: what lies there may be NaN.
  __device__ __forceinline__ void bring_scale(const KeyRange& range, int key,
                                              const Box& token) const {
    const KvTensor& tensor = kBringsKeys ? args_.k : args_.v;
    const std::int64_t at = range.kv_head * tensor.scale_head + token.page * tensor.scale_page +
                            token.token * tensor.scale_token;
    ptx::cp_async_4(scales() + key * 4, tensor.scale + at, token.page);
  }

  const TensorMaps& maps_;
  const StepArgs& args_;
  const SharedLayout<Config>& shared_;
  const int lane_;
  RingPlace<Config::kStages> stage_;
  bool waited_ = false;
};

}  // namespace headwise::cuda::sm90
