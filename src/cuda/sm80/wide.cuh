#pragma once

#include <cstdint>

#include "cuda/paging/tile_pipeline.cuh"
#include "cuda/sm80/item_queue.cuh"
#include "cuda/sm80/shared_layout.cuh"
#include "cuda/sm80/wide_products.cuh"
#include "cuda/sm80/wide_rows.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/step/set_aside.cuh"
#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm80 {

/// Many rows: each warp has kRowTiles * 16 rows of its own and walks all keys.
template <class Config>
class WideTile : private WideRows<Config> {
 public:
  using Pipeline =
      TilePipeline<Config::kThreads, Config::kWideKeys, Config::kKRow, Config::kVRow,
                   Config::kElement, Config::kWideTiles, Config::kFormat == KvFormat::i8>;

  __device__ __forceinline__ static void attend(const StepArgs& args,
                                                const SharedLayout<Config>& shared) {
    const ItemView& view = shared.view();
    if (threadIdx.x % 32 == 0) {
      const int first = threadIdx.x / 32 * kRowTiles * 16;
      shared.visible_of(threadIdx.x / 32).set(args, view, first, first + kRowTiles * 16 - 1);
    }
    Pipeline pipeline(args, shared.key_range(), shared.wide_ring(), shared.wide_key_rows());
    // The last place for values is free until the first tile is there.
    load_queries<Config, Config::kWideRows>(args, view, shared.queries(), shared.row_scales(),
                                            shared.wide_key_rows() - Config::kWideRows * 8);
    WideTile tile(args, view, shared);
    if constexpr (Config::kInvariant)
      tile.attend_in_pieces(pipeline);
    else
      tile.attend_tiles(pipeline, 0, pipeline.tiles());
    pipeline.drain();
    if (threadIdx.x == 0) claim_item(args, shared.counts().items, &shared.next_work());
    tile.finish(shared.scratch());
  }

 private:
  using Rows = WideRows<Config>;
  using Rows::add_up_lanes, Rows::begin, Rows::cap, Rows::finish, Rows::mask,
      Rows::pack_probabilities, Rows::raise_references, Rows::raise_rows, Rows::row_scale,
      Rows::rows_beyond, Rows::rows_without_reference;
  using Rows::args_, Rows::fresh_, Rows::lane_, Rows::first_row_, Rows::out_, Rows::packed_,
      Rows::reference_, Rows::scale_, Rows::sum_, Rows::unit_;
  using Rows::kDimTiles, Rows::kFormat, Rows::kKeyTiles, Rows::kRows, Rows::kRowTiles;
  using typename Rows::Logits;

  static constexpr int kTilesALoad = Config::k8Bit ? 4 : 2;
  // The unit that int8 values are counted in depends on other rows.
  static_assert(!Config::kInvariant ||
                (kFormat != KvFormat::i8 && kFixedSplit % Config::kWideKeys == 0));
  static constexpr int kScales = Config::kWideKeys * 4;  // bytes from K's scales to V's

  __device__ __forceinline__ WideTile(const StepArgs& args, const ItemView& view,
                                      const SharedLayout<Config>& shared)
      : Rows(args, view, shared),
        visible_(shared.visible(threadIdx.x / 32)),
        queries_{shared.queries()} {}

  /// Tiles first ... end - 1, then the rows' sums of probabilities from the lanes'.
  __device__ __forceinline__ void attend_tiles(Pipeline& pipeline, int first, int end) {
    for (int i = first; i < end; ++i) {
      const std::int32_t slot = pipeline.slot_of(i);
      const Visible visible = Visible::at(visible_);
      const std::uint32_t keys = pipeline.acquire_keys(i);
      const bool sees = visible.any(slot, Config::kWideKeys);
      const bool all = visible.all(slot, Config::kWideKeys);
      const bool plain = all && !fresh_ && args_.softcap == 0.0F && args_.kv_chunks;
      if (!plain) pipeline.template fetch_beside_keys<false>(i);
      if (sees && !(plain && take_quickly(keys, pipeline, i)))
        take_carefully(keys, slot, all, pipeline.scales());
      const std::uint32_t values = pipeline.acquire_values(i);
      if (Config::kWideTiles == 1 && plain) {
        take_values(values, [&](int step) {
          if (step == 0) pipeline.template fetch_beside_values<true>(i);
        });
      } else {
        pipeline.template fetch_beside_values<false>(i);
        if (sees) take_values(values, [](int) {});
      }
      pipeline.release(i);
    }
    add_up_lanes();
  }

  /// The same with sums that begin anew at every multiple of kFixedSplit, and are merged in order.
  __device__ __forceinline__ void attend_in_pieces(Pipeline& pipeline) {
    for (int i = 0; i < pipeline.tiles();) {
      const std::int32_t inside = pipeline.slot_of(i) % kFixedSplit;
      const int end = min(pipeline.tiles(), i + (kFixedSplit - inside) / Config::kWideKeys);
      if (i > 0) {
        set_aside<Config::kThreads>(args_, out_, reference_, sum_);
        begin();
      }
      attend_tiles(pipeline, i, end);
      if (i > 0) add_set_aside<Config::kThreads>(args_, out_, reference_, sum_);
      i = end;
    }
  }

  /// S of a tile and its probabilities where every row sees all keys, under the references that
  /// there are: nobody looks for the largest logit. False where a probability leaves the range;
  /// then nothing has happened but that the copies beside it have started.
  __device__ __forceinline__ bool take_quickly(std::uint32_t keys, Pipeline& pipeline, int tile) {
    const std::uint32_t scales = pipeline.scales();
    if constexpr (kFormat == KvFormat::i8)
      if (!unit_.holds(largest_scale(scales + kScales, Config::kWideKeys, lane_))) {
        pipeline.template fetch_beside_keys<true>(tile);
        return false;
      }
    float sum[kRows] = {};
    Logits logits;
    multiply_keys(logits, keys, [&](int step) {
      if (step == Config::kFetchStep) pipeline.template fetch_beside_keys<true>(tile);
    });
    if constexpr (kFormat == KvFormat::i8) scale_columns(logits, scales, lane_);
#pragma unroll
    for (int r = 0; r < kRows; ++r) exponentials(logits, r, row_scale(r), reference_[r], sum[r]);
    if constexpr (kFormat == KvFormat::i8)
      scale_columns(logits, scales + kScales, lane_, unit_.inverse());
    pack_probabilities(logits);
    bool beyond = false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) beyond = beyond || sum[r] > kMostOfLane;
    if (__any_sync(~0U, beyond)) return false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum_[r] += sum[r];
    return true;
  }

  /// With masks, caps and references that rise.
  __device__ __forceinline__ void take_carefully(std::uint32_t keys, std::int32_t slot, bool all,
                                                 std::uint32_t scales) {
    if constexpr (Config::kInvariant) return take_carefully_row_by_row(keys, slot, all);
    if constexpr (kFormat == KvFormat::i8)
      multiply_all(out_, unit_.grow(largest_scale(scales + kScales, Config::kWideKeys, lane_)));
    take_slowly(keys, slot, all, scales, 0, sum_);
  }

  /// A row's reference rises where the one it has does not do for it, whatever other rows of the
  /// warp need: its bits are its own.
  __device__ __forceinline__ void take_carefully_row_by_row(std::uint32_t keys, std::int32_t slot,
                                                            bool all) {
    std::uint32_t rising = rows_without_reference();
    bool tries = !__all_sync(~0U, rising == (1U << kRows) - 1);
    float sum[kRows];
#pragma unroll 1
    for (;; tries = false) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum[r] = 0.0F;
      take_slowly(keys, slot, all, 0, tries ? 0 : rising, sum);
      if (!tries) break;
      rising |= rows_beyond(sum);
      if (!__any_sync(~0U, rising != 0)) break;
    }
    fresh_ = __any_sync(~0U, rows_without_reference() != 0);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum_[r] += sum[r];
  }

  /// Probabilities of a tile, added up in `sum`. `rising`: bit r where the r-th row's reference may
  /// rise, where rows rise by themselves.
  __device__ __forceinline__ void take_slowly(std::uint32_t keys, std::int32_t slot, bool all,
                                              std::uint32_t scales, std::uint32_t rising,
                                              float (&sum)[kRows]) {
    const bool capped_logits = args_.softcap != 0.0F;
    Logits logits;
    multiply_keys(logits, keys, [](int) {});
    if constexpr (kFormat == KvFormat::i8) scale_columns(logits, scales, lane_);
    if (capped_logits) cap(logits);
    if (!all) mask(logits, slot);
    if constexpr (Config::kInvariant)
      raise_rows(logits, rising);
    else
      raise_references(logits);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      exponentials(logits, r, capped_logits ? 1.0F : row_scale(r), subtrahend(reference_[r]),
                   sum[r]);
    if constexpr (kFormat == KvFormat::i8)
      scale_columns(logits, scales + kScales, lane_, unit_.inverse());
    pack_probabilities(logits);
  }

  /// S = Q K^T. `beside` is called behind each step of sixteen dimensions with its number.
  template <class Beside>
  __device__ __forceinline__ void multiply_keys(Logits& logits, std::uint32_t keys, Beside beside) {
    const SharedTile<Config::kKRow> tile{keys};
    clear(logits);
    const std::uint32_t q_at = opaque(queries_.chunk(first_row_ + lane_ % 16, lane_ / 16));
    // A load brings 16-bit keys n and n + 8 with their two chunks, or a chunk of 32 8-bit keys.
    const std::uint32_t k_at =
        opaque(Config::k8Bit ? tile.chunk(lane_, 0)
                             : tile.chunk(lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2));
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; ++k) {
      std::uint32_t q[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        ptx::ldmatrix(q[m], queries_.advance(q_at, 2 * k) + m * 16 * Config::kQRow);
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += kTilesALoad) {
        std::uint32_t b[4];
        ptx::ldmatrix(b, tile.advance(k_at, Config::k8Bit ? k : 2 * k) + n * 8 * Config::kKRow);
        multiply_load<kFormat>(logits, n, q, b);
      }
      beside(k);
    }
  }

  /// O += P V. `beside` is called behind each step of sixteen keys with its number.
  template <class Beside>
  __device__ __forceinline__ void take_values(std::uint32_t values, Beside beside) {
    const SharedTile<Config::kVRow> tile{values};
    const std::uint32_t v_at = opaque(tile.chunk(lane_ % 16, lane_ / 16));
#pragma unroll
    for (int k = 0; k < kKeyTiles; k += 2) {
#pragma unroll
      for (int n = 0; n < kDimTiles; n += kTilesALoad) {
        std::uint32_t b[4];  // a chunk and the next one, in halves of the sixteen keys
        ptx::ldmatrix_transposed(
            b, tile.advance(v_at, Config::k8Bit ? n / 2 : n) + k * 8 * Config::kVRow);
        multiply_values<kFormat>(out_, n, packed_[k / 2], b);
      }
      beside(k / 2);
    }
  }

  const std::uint32_t visible_;  // of this warp's rows, in shared memory
  const SharedTile<Config::kQRow> queries_;
};

}  // namespace headwise::cuda::sm80
