#pragma once

#include <cstdint>

#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/box_tile.cuh"
#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm90 {

/// A warpgroup's 64 query rows of an item, and sums over the tiles that it takes. Each warp has
/// sixteen rows; lane l = 4g + t holds rows g and g + 8 of them, and of every eight keys or
/// dimensions columns 2t and 2t + 1.
template <class Config>
class WideTile {
 public:
  static constexpr int kDimTiles = Config::kDimV / 8;

  __device__ __forceinline__ WideTile(const StepArgs& args, const HandedItem& item,
                                      const SharedLayout<Config>& shared)
      : args_(args),
        view_(item.view),
        scale_(logit_scale(args, item.view)),
        lane_(opaque(threadIdx.x) % 32),
        warp_row_(opaque(threadIdx.x) / 32 * 16 % Config::kRows),
        queries_(shared.queries() + warp_row_ / 64 * 64 * 128) {
    visible_.set(args, view_, warp_row_, warp_row_ + 15);
    clear(out_);
  }

  /// All keys of the item that are this group's. While a tile's values are multiplied the next
  /// one's logits become probabilities.
  __device__ __forceinline__ void take_all(const SharedLayout<Config>& shared,
                                           RingPlace<Config::kStages>& stage) {
    const KeyRange& range = view_.range;
    const int tiles = (range.slot_end - range.slot_begin + Config::kKeys - 1) / Config::kKeys;
    int tile = 0;
    const auto pass = [&] {  // the parity of a stage is the same again two rounds on
      if (Config::kSharesRows && tile < tiles) {
        ptx::mbarrier_wait(shared.keys_full(stage.index), stage.parity);
        ptx::mbarrier_wait(shared.values_full(stage.index), stage.parity);
      }
      if (tile < tiles) stage.advance();
      ++tile;
    };
    if (Config::kSharesRows && threadIdx.x >= 128) pass();
    if (tile < tiles) {
      RingPlace<Config::kStages> now = stage;
      begin(shared, now, range.slot_begin + tile * Config::kKeys);
      for (;;) {
        stage.advance();
        ++tile;
        if (Config::kSharesRows) pass();
        if (tile >= tiles) break;
        follow(shared, now, stage, range.slot_begin + tile * Config::kKeys);
        now = stage;
      }
      await(shared.values_full(now.index), now.parity);
      start_values(shared.values(now.index));
      ptx::wgmma_wait<0>(out_[0]);
      release(shared.values_empty(now.index));
    }
    add_up_lanes();
  }

  __device__ __forceinline__ int lane() const { return lane_; }
  /// Of the item: the lane's r-th of two.
  __device__ __forceinline__ int row(int r) const { return warp_row_ + r * 8 + lane_ / 4; }

  float reference_[2] = {-INFINITY, -INFINITY};
  float sum_[2] = {};
  float out_[1][kDimTiles][4];

 private:
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr bool kBf16 = kFormat == KvFormat::bf16;
  static constexpr int kKeyTiles = Config::kKeys / 8;
  static constexpr int kOutTiles = Config::kDimV % 128 == 0 ? 16 : 8;  ///< of a product

  /// Each lane's sums of probabilities become their rows'.
  __device__ __forceinline__ void add_up_lanes() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 1);
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 2);
    }
  }

  /// Probabilities of the first tile.
  __device__ __forceinline__ void begin(const SharedLayout<Config>& shared,
                                        const RingPlace<Config::kStages>& now, std::int32_t slot) {
    await(shared.keys_full(now.index), now.parity);
    start_keys(shared.keys(now.index));
    ptx::wgmma_wait<0>(logits_[0]);
    release(shared.keys_empty(now.index));
    softmax(shared, now, slot);
    pack_probabilities();
  }

  /// Values of tile `now` beside the probabilities of tile `next`, from `slot` on.
  __device__ __forceinline__ void follow(const SharedLayout<Config>& shared,
                                         const RingPlace<Config::kStages>& now,
                                         const RingPlace<Config::kStages>& next,
                                         std::int32_t slot) {
    await(shared.keys_full(next.index), next.parity);
    start_keys(shared.keys(next.index));
    await(shared.values_full(now.index), now.parity);
    start_values(shared.values(now.index));
    ptx::wgmma_wait<1>(logits_[0]);
    release(shared.keys_empty(next.index));
    softmax(shared, next, slot);
    ptx::wgmma_wait<0>(out_[0]);
    release(shared.values_empty(now.index));
    rescale();
    pack_probabilities();
  }

  __device__ __forceinline__ static void await(std::uint32_t barrier, std::uint32_t parity) {
    ptx::mbarrier_wait(barrier, parity);
    __syncwarp();
  }
  __device__ __forceinline__ void release(std::uint32_t barrier) const {
    if (lane_ == 0) ptx::mbarrier_arrive(barrier);
    __syncwarp();
  }

  /// S = Q K^T.
  __device__ __forceinline__ void start_keys(std::uint32_t keys) {
    ptx::wgmma_fence();
    const std::uint64_t q = ptx::box_descriptor(queries_, 16);
    const std::uint64_t key = ptx::box_descriptor(keys, 16);
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; ++k) {
      const int box = k / 4 * 128;
      const int step = k % 4 * 32;
      ptx::wgmma<kBf16>(logits_[0], ptx::advance(q, box * Config::kRows + step),
                        ptx::advance(key, box * Config::kKeys + step), k > 0);
    }
    ptx::wgmma_commit();
  }

  __device__ __forceinline__ void cap() {
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        logits_[0][n][i] = capped(logits_[0][n][i] * scale_, args_.softcap);
  }

  __device__ __forceinline__ void mask(std::int32_t slot) {
    Seen seen[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int32_t position = view_.position_of(args_, row(r));
      seen[r] = ItemView::seen_from(args_, position, position);
    }
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const std::int32_t key = slot + n * 8 + lane_ % 4 * 2 + j;
        const bool there = key < view_.range.slot_end;
        const std::int32_t position = there ? view_.position_of_slot(args_, key) : 0;
#pragma unroll
        for (int r = 0; r < 2; ++r)
          if (!there || position < seen[r].first || position > seen[r].last)
            logits_[0][n][r * 2 + j] = -INFINITY;
      }
  }

  /// The same for all warps of the group.
  __device__ __forceinline__ bool may_be_dead(std::int32_t slot) const {
    return args_.positions != nullptr || slot + Config::kKeys > view_.range.slot_end ||
           slot < view_.range.first_seen;
  }

  /// Makes zeros of values that no row of the request sees: 0 times NaN is NaN.
  __device__ __forceinline__ void clear_dead(std::uint32_t values, std::int32_t slot) {
    const BoxTile<Config::kKeys> tile{values};
    const int thread = threadIdx.x % 128;
    for (int row = thread / 8; row < Config::kKeys; row += 16) {
      const std::int32_t key = slot + row;
      bool dead = key >= view_.range.slot_end;
      if (!dead) {
        const std::int32_t position = view_.position_of_slot(args_, key);
        dead = position < view_.range.first_seen || position > view_.range.last_seen;
      }
      for (int chunk = thread % 8; dead && chunk < Config::kVBoxes * 8; chunk += 8) {
        ptx::store_shared_64(tile.chunk(row, chunk), 0);
        ptx::store_shared_64(tile.chunk(row, chunk) + 8, 0);
      }
    }
    ptx::fence_before_copies();
    ptx::named_barrier(2 + threadIdx.x / 128, 128);
  }

  /// Logits of the tile in `place`, from `slot` on, to probabilities.
  __device__ __forceinline__ void softmax(const SharedLayout<Config>& shared,
                                          const RingPlace<Config::kStages>& place,
                                          std::int32_t slot) {
    if (args_.softcap != 0.0F) cap();
    if (!visible_.all(slot, Config::kKeys)) mask(slot);
    if (may_be_dead(slot)) {
      await(shared.values_full(place.index), place.parity);
      clear_dead(shared.values(place.index), slot);
    }
    const float scale = args_.softcap == 0.0F ? scale_ : 1.0F;
    float top[2];
    bool grows = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      top[r] = largest(logits_, r) * scale;
      grows = grows || passes<kFormat>(reference_[r], top[r]);
    }
    grows_ = __any_sync(~0U, grows);
    if (grows_) raise_references(top);
#pragma unroll
    for (int r = 0; r < 2; ++r) exponentials(logits_, r, scale, subtrahend(reference_[r]), sum_[r]);
  }

  __device__ __forceinline__ void raise_references(const float (&top)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float now = fmaxf(top[r], __shfl_xor_sync(~0U, top[r], 1));
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 2));
      now = raised<kFormat>(reference_[r], now);
      factor_[r] = rescale_factor(reference_[r], now);
      reference_[r] = now;
      sum_[r] *= factor_[r];
    }
  }

  /// Sums of values by references that softmax() has raised.
  __device__ __forceinline__ void rescale() {
    if (!grows_) return;
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int n = 0; n < kDimTiles; ++n) {
        out_[0][n][r * 2] *= factor_[r];
        out_[0][n][r * 2 + 1] *= factor_[r];
      }
  }

  /// Rounds them for the second product.
  __device__ __forceinline__ void pack_probabilities() {
#pragma unroll
    for (int k = 0; k < kKeyTiles / 2; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        packed_[k][i] = pack<kFormat>(logits_[0][2 * k + i / 2][i % 2 * 2],
                                      logits_[0][2 * k + i / 2][i % 2 * 2 + 1]);
  }

  /// O += P V.
  __device__ __forceinline__ void start_values(std::uint32_t values) {
    const std::uint64_t value = ptx::box_descriptor(values, Config::kKeys * 128);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < kDimTiles; n += kOutTiles) {
      auto& out = reinterpret_cast<float(&)[kOutTiles][4]>(out_[0][n]);
#pragma unroll
      for (int k = 0; k < kKeyTiles / 2; ++k)
        ptx::wgmma<kBf16>(out, packed_[k],
                          ptx::advance(value, n / 8 * Config::kKeys * 128 + k * 16 * 128));
    }
    ptx::wgmma_commit();
  }

  const StepArgs& args_;
  const ItemView& view_;
  const float scale_;
  const int lane_;
  const int warp_row_;  // this warp's first row of the item
  const std::uint32_t queries_;
  Visible visible_;                // to the warp's rows
  bool grows_ = false;             // a reference rose by the last tile
  float factor_[2];                // what sums from before that count
  float logits_[1][kKeyTiles][4];  // then probabilities
  std::uint32_t packed_[kKeyTiles / 2][4];
};

}  // namespace headwise::cuda::sm90
