#pragma once

#include <cstdint>

#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/sm90/turns.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/box_tile.cuh"
#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm90 {

/// By so much (in log2) a row's reference lies above the largest logit that it was set by: later
/// logits may pass that one by twice as much before a sum leaves the range that is checked.
template <KvFormat kFormat>
inline constexpr float kHeadroomBits = kFormat == KvFormat::bf16 ? 32.0F : 0.0F;
/// Sums above it say that a logit passed by more.
inline constexpr float kMostSum = 4294967296.0F;  // 2^32

/// A warpgroup's 64 query rows of an item, and sums over the tiles that it takes. Each warp has
/// sixteen rows; lane l = 4g + t holds rows g and g + 8 of them, and of every eight keys or
/// dimensions columns 2t and 2t + 1.
///
/// A row's reference is set by the first tile that the row sees, and by those of which it does not
/// see all; others count on it, and their largest logits are not looked for. Whoever finishes the
/// rows asks whether that went well: probabilities and sums are floating-point numbers, so that a
/// wrong reference costs range, but no accuracy. F16's range is too small for that.
///
/// While a tile's values are multiplied the next one's logits become probabilities.
template <class Config>
class WideTile {
 public:
  static constexpr int kDimTiles = Config::kDimV / 8;
  using Stage = RingPlace<Config::kStages>;

  __device__ __forceinline__ WideTile(const StepArgs& args, const SharedLayout<Config>& shared,
                                      const HandedItem& item, std::uint32_t queries, int group)
      : args_(args),
        shared_(shared),
        item_(item),
        queries_(queries + (Config::kSharesRows ? 0 : group) * 64 * 128),
        turns_{group} {
    clear(out_);
  }

  /// All keys of the item that are this group's, if it is `wanted`; `stage` is the first tile's.
  __device__ __forceinline__ void take_all(Stage& stage, bool wanted) {
    const GroupTiles tiles =
        wanted ? item_.tiles[turns_.group].the_same_in_all_lanes() : GroupTiles{};
    const int end = tiles.end;
    const int all = uniform(item_.count_tiles(Config::kKeys));
    int tile = 0;
    const auto pass_to = [&](int to) {
#pragma unroll 1
      for (; tile < to; ++tile) {
        pass(stage);
        stage.advance();
      }
    };
    const auto next = [&] {
      stage.advance();
      ++tile;
      if (Config::kSharesRows && tile < all) pass_to(tile + 1);
    };
    pass_to(tiles.first);
    if (tile < end) {
      Stage now = stage;
      begin(now, tile);
      next();
#pragma unroll 1
      while (tile < end) {
        if (tile >= tiles.plain_first) {
#pragma unroll 1
          while (tile < tiles.plain_end) {
            follow<true>(now, stage, tile);
            now = stage;
            next();
          }
          if (tile >= end) break;
        }
        follow<false>(now, stage, tile);
        now = stage;
        next();
      }
      await(shared_.values_full(now.index()), now.parity());
      start_values(shared_.values(now.index()));
      end_values(now);
    }
    pass_to(all);
    add_up_lanes();
  }

  __device__ __forceinline__ int group() const { return turns_.group; }

  // Read anew where they are needed: registers are for sums.
  __device__ __forceinline__ static int lane() { return opaque(threadIdx.x) % 32; }
  /// The warp's first row of the item.
  __device__ __forceinline__ static int warp_row() {
    return opaque(threadIdx.x) / 32 * 16 % Config::kRows;
  }
  /// Of the item: the lane's r-th of two.
  __device__ __forceinline__ static int row(int r) { return warp_row() + r * 8 + lane() / 4; }

  float reference_[2] = {-INFINITY, -INFINITY};
  float sum_[2] = {};  // of probabilities
  float out_[1][kDimTiles][4];

 private:
  /// Probabilities of the item's first tile, in stage `now`.
  __device__ __forceinline__ void begin(const Stage& now, int tile) {
    await(shared_.keys_full(now.index()), now.parity());
    turns_.await();
    start_keys(shared_.keys(now.index()));
    turns_.give();
    ptx::wgmma_wait<0>(logits_[0]);
    release(shared_.keys_empty(now.index()));
    softmax(now, slot_of(tile));
    pack_probabilities();
  }

  /// Values of the tile in stage `now` beside the probabilities of `tile` in stage `next`.
  template <bool kPlain>
  __device__ __forceinline__ void follow(const Stage& now, const Stage& next, int tile) {
    start_both(now, next);
    if constexpr (kPlain)
      count_on_references(args_.scale_log2);
    else
      softmax(next, slot_of(tile));
    end_values(now);
    if constexpr (!kPlain) rescale();
    pack_probabilities();
  }

  /// A tile that others take, or nobody. Its place is free when all have seen it: else a warp that
  /// lags behind might find a later round's tile there.
  __device__ __forceinline__ void pass(const Stage& stage) const {
    turns_.await();
    turns_.give();
    await(shared_.keys_full(stage.index()), stage.parity());
    __syncwarp();  // products, too, wait for all lanes
    release(shared_.keys_empty(stage.index()));
    await(shared_.values_full(stage.index()), stage.parity());
    __syncwarp();
    release(shared_.values_empty(stage.index()));
  }

  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr bool kBf16 = kFormat == KvFormat::bf16;
  static constexpr int kKeyTiles = Config::kKeys / 8;
  static constexpr int kOutTiles = Config::kDimV % 128 == 0 ? 16 : 8;  ///< of a product

  __device__ __forceinline__ std::int32_t slot_of(int tile) const {
    return item_.view.range.slot_begin + tile * Config::kKeys;
  }

  /// Each lane's sums of probabilities become their rows'.
  __device__ __forceinline__ void add_up_lanes() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 1);
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 2);
    }
  }

  __device__ __forceinline__ void start_both(const Stage& now, const Stage& next) {
    await(shared_.keys_full(next.index()), next.parity());
    turns_.await();
    start_keys(shared_.keys(next.index()));
    await(shared_.values_full(now.index()), now.parity());
    start_values(shared_.values(now.index()));
    turns_.give();
    ptx::wgmma_wait<1>(logits_[0]);
    release(shared_.keys_empty(next.index()));
  }

  __device__ __forceinline__ void end_values(const Stage& now) {
    ptx::computed(logits_[0]);
    ptx::wgmma_wait<0>(out_[0]);
    release(shared_.values_empty(now.index()));
  }

  __device__ __forceinline__ static void await(std::uint32_t barrier, std::uint32_t parity) {
    ptx::mbarrier_wait(barrier, parity);
  }
  __device__ __forceinline__ void release(std::uint32_t barrier) const {
    if (speaks_) ptx::mbarrier_arrive(barrier);
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
        logits_[0][n][i] = capped(logits_[0][n][i] * args_.scale_log2, args_.softcap);
  }

  __device__ __forceinline__ void mask(std::int32_t slot) {
    if (args_.positions != nullptr) return mask_by_positions(slot);
    const std::int32_t first_key = slot + lane() % 4 * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Seen seen = item_.view.seen_by_rows(args_, row(r), row(r));
      const std::int32_t last = min(seen.last, item_.view.range.slot_end - 1);
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
  __device__ __forceinline__ void mask_by_positions(std::int32_t slot) {
    Seen seen[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) seen[r] = item_.view.seen_by_rows(args_, row(r), row(r));
#pragma unroll
    for (int part = 0; part < Config::kKeys / 32; ++part) {
      const std::int32_t own = slot + part * 32 + lane();
      const std::int32_t stands =
          own < item_.view.range.slot_end ? item_.view.position_of_slot(args_, own) : -1;
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
  __device__ __forceinline__ bool may_be_dead(std::int32_t slot) const {
    return args_.positions != nullptr || slot + Config::kKeys > item_.view.range.slot_end ||
           slot < item_.view.range.first_seen;
  }

  /// Makes zeros of values that no row of the request sees: 0 times NaN is NaN.
  __device__ __forceinline__ void clear_dead(std::uint32_t values, std::int32_t slot) {
    const BoxTile<Config::kKeys> tile{values};
    const int thread = threadIdx.x % 128;
    for (int row = thread / 8; row < Config::kKeys; row += 16) {
      const std::int32_t key = slot + row;
      bool dead = key >= item_.view.range.slot_end;
      if (!dead) {
        const std::int32_t position = item_.view.position_of_slot(args_, key);
        dead = position < item_.view.range.first_seen || position > item_.view.range.last_seen;
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
  __device__ __forceinline__ void softmax(const Stage& place, std::int32_t slot) {
    if (args_.softcap != 0.0F) cap();
    Visible visible;  // to the warp's rows
    visible.set(args_, item_.view, warp_row(), warp_row() + 15);
    if (!visible.all(slot, Config::kKeys)) mask(slot);
    if (may_be_dead(slot)) {
      await(shared_.values_full(place.index()), place.parity());
      clear_dead(shared_.values(place.index()), slot);
    }
    const float scale = args_.softcap == 0.0F ? args_.scale_log2 : 1.0F;
    look_for_largest(scale);
    count_on_references(scale);
  }

  __device__ __forceinline__ void count_on_references(float scale) {
#pragma unroll
    for (int r = 0; r < 2; ++r) exponentials(logits_, r, scale, subtrahend(reference_[r]), sum_[r]);
  }

  /// Raises the references where they do not reach; then rescale() has to follow.
  __device__ __forceinline__ void look_for_largest(float scale) {
    float top[2];
    bool grows = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      top[r] = largest(logits_, r) * scale + kHeadroomBits<kFormat>;
      grows = grows || passes<kFormat>(reference_[r], top[r]);
    }
    grows_ = __any_sync(~0U, grows);
    if (grows_) raise_references(top);
  }

  __device__ __forceinline__ void raise_references(const float (&top)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float now = fmaxf(top[r], __shfl_xor_sync(~0U, top[r], 1));
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 2));
      now = raised<kFormat>(reference_[r], now);
      factor_[r] = rescale_factor(reference_[r], now);
      reference_[r] = now;
      // What is too large is found at the end, and must not become 0 before.
      const bool fits = kHeadroomBits<kFormat> == 0.0F || sum_[r] <= kMostSum;
      sum_[r] = fits ? sum_[r] * factor_[r] : INFINITY;
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
  const SharedLayout<Config>& shared_;
  const HandedItem& item_;
  const std::uint32_t queries_;  // the group's first row
  const Turns<Config> turns_;
  const bool speaks_ = threadIdx.x % 32 == 0;
  bool grows_ = false;             // a reference rose by the last tile
  float factor_[2];                // what sums from before that count
  float logits_[1][kKeyTiles][4];  // then probabilities
  std::uint32_t packed_[kKeyTiles / 2][4];
};

}  // namespace headwise::cuda::sm90
