#pragma once

#include <cstdint>

#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90/item_reader.cuh"
#include "cuda/sm90/row_sums.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/turns.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/box_tile.cuh"
#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm90 {

/// A warpgroup's 64 query rows of one item after the other, and sums over the tiles that it takes.
/// Each warp has sixteen rows; lane l = 4g + t holds rows g and g + 8 of them, and of every eight
/// keys or dimensions columns 2t and 2t + 1.
///
/// A row's reference is set by the first tile that the row sees, and by those of which it does not
/// see all; others count on it, and their largest logits are not looked for. Whoever finishes the
/// rows asks whether that went well: probabilities and sums are floating-point numbers, so that a
/// wrong reference costs range, but no accuracy.
///
/// While a tile's values are multiplied the next one's logits become probabilities, also where the
/// next one is the first of the next item.
template <class Config>
class WideTile {
 public:
  static constexpr int kDimTiles = Config::kDimV / 8;

  __device__ __forceinline__ WideTile(const StepArgs& args, const SharedLayout<Config>& shared,
                                      int group)
      : args_(args), shared_(shared), turns_{group} {
    clear(out_);
  }

  /// Probabilities of the first tile of an item that has some for the group.
  __device__ __forceinline__ void begin(const GroupItem<Config>& item) {
    pass_to(item.tiles().first);
    await(shared_.keys_full(stage_.index()), stage_.parity());
    turns_.await();
    start_keys(item.queries(), shared_.keys(stage_.index()));
    turns_.give();
    ptx::wgmma_wait<0>(logits_[0]);
    release(shared_.keys_empty(stage_.index()));
    softmax(item.handed(), stage_, tile_);
    pack_probabilities();
    go_to_next(item);
  }

  /// All of the item's tiles that are the group's; the last one's values are left to end().
  __device__ __forceinline__ void follow_all(const GroupItem<Config>& item) {
    const GroupTiles tiles = item.tiles();
#pragma unroll 1
    while (tile_ < tiles.end) {
      if (tile_ >= tiles.plain_first) {
#pragma unroll 1
        while (tile_ < tiles.plain_end) follow<true>(item);
        if (tile_ >= tiles.end) break;
      }
      follow<false>(item);
    }
  }

  /// The next tiles, up to the item's `end`-th, of which nobody counts on references.
  __device__ __forceinline__ void follow_to(const GroupItem<Config>& item, int end) {
#pragma unroll 1
    while (tile_ < end) follow<false>(item);
  }

  /// Tiles that others take, or nobody. A place is free when all have seen its tile: else a warp
  /// that lags behind might find a later round's there.
  __device__ __forceinline__ void pass_to(int to) {
#pragma unroll 1
    for (; tile_ < to; ++tile_) {
      turns_.await();
      turns_.give();
      await(shared_.keys_full(stage_.index()), stage_.parity());
      release(shared_.keys_empty(stage_.index()));
      await(shared_.values_full(stage_.index()), stage_.parity());
      release(shared_.values_empty(stage_.index()));
      stage_.advance();
    }
  }

  /// Passes what is left of an item.
  __device__ __forceinline__ void leave(const GroupItem<Config>& item) {
    pass_to(item.count_tiles());
    tile_ = 0;
  }

  /// The last tile's values.
  __device__ __forceinline__ RowSums end() {
    await(shared_.values_full(now_.index()), now_.parity());
    start_values(shared_.values(now_.index()));
    end_values();
    const RowSums done = rows_;
    rows_ = {};
    return done;
  }

  /// The same, and beside it probabilities of the next item's first tile.
  __device__ __forceinline__ RowSums end_beside(const GroupItem<Config>& next) {
    pass_to(next.tiles().first);
    await(shared_.keys_full(stage_.index()), stage_.parity());
    turns_.await();
    start_keys(next.queries(), shared_.keys(stage_.index()));
    await(shared_.values_full(now_.index()), now_.parity());
    start_values(shared_.values(now_.index()));
    turns_.give();
    ptx::wgmma_wait<1>(logits_[0]);
    const RowSums done = rows_;
    rows_ = {};
    release(shared_.keys_empty(stage_.index()));
    softmax(next.handed(), stage_, tile_);
    end_values();
    pack_probabilities();
    go_to_next(next);
    return done;
  }

  /// The item that comes has its first probabilities.
  __device__ __forceinline__ bool has_begun() const { return tile_ > 0; }

  __device__ __forceinline__ void clear_sums() { clear(out_); }

  __device__ __forceinline__ int group() const { return turns_.group; }
  // Read anew where they are needed: registers are for sums.
  __device__ __forceinline__ static int lane() { return opaque(threadIdx.x) % 32; }
  /// The warp's first row of the item.
  __device__ __forceinline__ static int warp_row() {
    return opaque(threadIdx.x) / 32 * 16 % Config::kRows;
  }
  /// Of the item: the lane's r-th of two.
  __device__ __forceinline__ static int row(int r) { return warp_row() + r * 8 + lane() / 4; }

  float out_[1][kDimTiles][4];  // sums of values

 private:
  using Stage = RingPlace<Config::kStages>;
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr bool kBf16 = kFormat == KvFormat::bf16;
  static constexpr int kKeyTiles = Config::kKeys / 8;
  static constexpr int kOutTiles = Config::kDimV % 128 == 0 ? 16 : 8;  ///< of a product

  /// Values of the last tile beside the probabilities of the next.
  template <bool kPlain>
  __device__ __forceinline__ void follow(const GroupItem<Config>& item) {
    await(shared_.keys_full(stage_.index()), stage_.parity());
    turns_.await();
    start_keys(item.queries(), shared_.keys(stage_.index()));
    await(shared_.values_full(now_.index()), now_.parity());
    start_values(shared_.values(now_.index()));
    turns_.give();
    ptx::wgmma_wait<1>(logits_[0]);
    release(shared_.keys_empty(stage_.index()));
    if constexpr (kPlain)
      count_on_references(args_.scale_log2);
    else
      softmax(item.handed(), stage_, tile_);
    end_values();
    if constexpr (!kPlain) rescale();
    pack_probabilities();
    go_to_next(item);
  }

  /// The tile in stage_ has become packed_; behind it may come one of the other group's.
  __device__ __forceinline__ void go_to_next(const GroupItem<Config>& item) {
    now_ = stage_;
    stage_.advance();
    ++tile_;
    if (Config::kSharesRows && tile_ < item.count_tiles()) pass_to(tile_ + 1);
  }

  __device__ __forceinline__ void end_values() {
    ptx::computed(logits_[0]);
    ptx::wgmma_wait<0>(out_[0]);
    release(shared_.values_empty(now_.index()));
  }

  __device__ __forceinline__ static void await(std::uint32_t barrier, std::uint32_t parity) {
    ptx::mbarrier_wait(barrier, parity);
    __syncwarp();
  }
  __device__ __forceinline__ void release(std::uint32_t barrier) const {
    if (speaks_) ptx::mbarrier_arrive(barrier);
  }

  /// S = Q K^T.
  __device__ __forceinline__ void start_keys(std::uint32_t queries, std::uint32_t keys) {
    ptx::wgmma_fence();
    const std::uint64_t q = ptx::box_descriptor(queries, 16);
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
        logits_[0][n][i] = capped(logits_[0][n][i] * args_.scale_log2, args_.softcap);
  }

  __device__ __forceinline__ void mask(const ItemView& view, std::int32_t slot) {
    if (args_.positions != nullptr) return mask_by_positions(view, slot);
    const std::int32_t first_key = slot + lane() % 4 * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Seen seen = view.seen_by_rows(args_, row(r), row(r));
      const std::int32_t last = min(seen.last, view.range.slot_end - 1);
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const std::int32_t key = first_key + (n * 8 + j);
          if (key < seen.first || key > last) logits_[0][n][r * 2 + j] = -INFINITY;
        }
    }
  }

  /// Each lane looks up where every 32nd key stands.
  __device__ __forceinline__ void mask_by_positions(const ItemView& view, std::int32_t slot) {
    Seen seen[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) seen[r] = view.seen_by_rows(args_, row(r), row(r));
#pragma unroll
    for (int part = 0; part < Config::kKeys / 32; ++part) {
      const std::int32_t own = slot + part * 32 + lane();
      const std::int32_t stands =
          own < view.range.slot_end ? view.position_of_slot(args_, own) : -1;
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const std::int32_t position = __shfl_sync(~0U, stands, n * 8 + lane() % 4 * 2 + j);
#pragma unroll
          for (int r = 0; r < 2; ++r)
            if (position < 0 || position < seen[r].first || position > seen[r].last)
              logits_[0][part * 4 + n][r * 2 + j] = -INFINITY;
        }
    }
  }

  /// The same for all warps of the group.
  __device__ __forceinline__ bool may_be_dead(const KeyRange& range, std::int32_t slot) const {
    return args_.positions != nullptr || slot + Config::kKeys > range.slot_end ||
           slot < range.first_seen;
  }

  /// Makes zeros of values that no row of the request sees: 0 times NaN is NaN.
  __device__ __forceinline__ void clear_dead(const ItemView& view, std::uint32_t values,
                                             std::int32_t slot) {
    const BoxTile<Config::kKeys> tile{values};
    const int thread = threadIdx.x % 128;
    for (int row = thread / 8; row < Config::kKeys; row += 16) {
      const std::int32_t key = slot + row;
      bool dead = key >= view.range.slot_end;
      if (!dead) {
        const std::int32_t position = view.position_of_slot(args_, key);
        dead = position < view.range.first_seen || position > view.range.last_seen;
      }
      for (int chunk = thread % 8; dead && chunk < Config::kVBoxes * 8; chunk += 8) {
        ptx::store_shared_64(tile.chunk(row, chunk), 0);
        ptx::store_shared_64(tile.chunk(row, chunk) + 8, 0);
      }
    }
    ptx::fence_before_copies();
    ptx::named_barrier(2 + threadIdx.x / 128, 128);
  }

  /// Logits of an item's tile, in `place`, to probabilities.
  __device__ __forceinline__ void softmax(const HandedItem& item, const Stage& place, int tile) {
    const ItemView& view = item.view;
    const std::int32_t slot = item.slot_of(tile, Config::kKeys);
    if (args_.softcap != 0.0F) cap();
    Visible visible;  // to the warp's rows
    visible.set(args_, view, warp_row(), warp_row() + 15);
    if (!visible.all(slot, Config::kKeys)) mask(view, slot);
    if (may_be_dead(view.range, slot)) {
      await(shared_.values_full(place.index()), place.parity());
      clear_dead(view, shared_.values(place.index()), slot);
    }
    const float scale = args_.softcap == 0.0F ? args_.scale_log2 : 1.0F;
    look_for_largest(scale);
    count_on_references(scale);
  }

  __device__ __forceinline__ void count_on_references(float scale) {
#pragma unroll
    for (int r = 0; r < 2; ++r)
      exponentials(logits_, r, scale, subtrahend(rows_.reference[r]), rows_.sum[r]);
  }

  /// Raises the references where they do not reach; then rescale() has to follow.
  __device__ __forceinline__ void look_for_largest(float scale) {
    float top[2];
    bool grows = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      top[r] = largest(logits_, r) * scale + kHeadroomBits<Config>;
      grows = grows || passes<kFormat>(rows_.reference[r], top[r]);
    }
    grows_ = __any_sync(~0U, grows);
    if (grows_) rows_.raise<Config>(top, factor_);
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
  const SharedLayout<Config>& shared_;
  const Turns<Config> turns_;
  const bool speaks_ = threadIdx.x % 32 == 0;
  Stage stage_;   // the next tile's
  Stage now_;     // that of packed_
  int tile_ = 0;  // of the item, in stage_
  RowSums rows_;
  bool grows_ = false;             // a reference rose by the last tile
  float factor_[2];                // what sums from before that count
  float logits_[1][kKeyTiles][4];  // then probabilities
  std::uint32_t packed_[kKeyTiles / 2][4];
};

}  // namespace headwise::cuda::sm90
