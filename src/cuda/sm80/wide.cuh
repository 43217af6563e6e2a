#pragma once

#include <cstdint>

#include "cuda/sm80/item_queue.cuh"
#include "cuda/sm80/item_view.cuh"
#include "cuda/sm80/queries.cuh"
#include "cuda/sm80/results.cuh"
#include "cuda/sm80/set_aside.cuh"
#include "cuda/sm80/shared_layout.cuh"
#include "cuda/sm80/wide_products.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/products.cuh"
#include "cuda/tile/value_unit.cuh"

namespace headwise::cuda::sm80 {

/// Many rows: each warp has kRowTiles * 16 rows of its own and walks all keys, by online softmax.
/// Lane l = 4g + t holds rows g and g + 8 of each row tile: of S, columns 2t and 2t + 1 of every
/// eight keys; of O the same of every eight dimensions (8-bit V: see finish()).
template <class Config>
class WideTile {
 public:
  using Pipeline =
      KeyPipeline<Config::kThreads, Config::kWideKeys, Config::kKRow, Config::kVRow,
                  Config::kElement, Config::kWideSlots, Config::kFormat == KvFormat::i8>;

  __device__ __forceinline__ static void attend(const StepArgs& args,
                                                const SharedLayout<Config>& shared) {
    const ItemView& view = shared.view();
    load_queries<Config, Config::kWideRows>(args, view, shared.queries(), shared.row_scales());
    if (threadIdx.x % 32 == 0) {
      const int first = threadIdx.x / 32 * kRowTiles * 16;
      shared.visible_of(threadIdx.x / 32).set(args, view, first, first + kRowTiles * 16 - 1);
    }
    Pipeline pipeline(args, view.range, shared.wide_ring(), shared.wide_key_rows());
    WideTile tile(args, view, shared);
    bool cut = false;
    for (int i = 0;;) {
      const int end = tiles_to_cut(args, pipeline, i);
      for (; i < end; ++i) {
        const std::int32_t slot = pipeline.slot_of(i);
        const std::uint32_t keys = pipeline.acquire_keys(i);
        if (kHoldsQueries && i == 0) tile.hold_queries();
        const Visible visible = Visible::at(tile.visible_);
        const bool sees = visible.any(slot, Config::kWideKeys);
        if (sees)
          tile.take_keys(keys, slot, visible.all(slot, Config::kWideKeys), pipeline.scales());
        const std::uint32_t values = pipeline.acquire_values(i);
        if (sees) tile.take_values(values);
      }
      tile.add_up_lanes();
      if (cut) add_set_aside<Config::kThreads>(args, tile.out_, tile.reference_, tile.sum_);
      if (end == pipeline.tiles()) break;
      set_aside<Config::kThreads>(args, tile.out_, tile.reference_, tile.sum_);
      tile.begin();
      cut = true;
    }
    pipeline.drain();
    if (threadIdx.x == 0) claim_item(args, &shared.next_work());
    tile.finish(shared.scratch());
  }

 private:
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr int kRowTiles = Config::kRowTiles;
  static constexpr int kKeyTiles = Config::kWideKeys / 8;
  static constexpr int kDimTiles = Config::kDimV / 8;
  static constexpr int kTilesALoad = Config::k8Bit ? 4 : 2;
  static constexpr int kRows = kRowTiles * 2;  // of a lane
  // Sixteen rows leave registers for q, and shared memory is what limits them.
  static constexpr bool kHoldsQueries = kRowTiles == 1 && !Config::k8Bit;
  // S is computed in parts of a tile: fewer registers.
  static constexpr int kParts = kKeyTiles > 4 ? 2 : 1;
  static constexpr int kPartTiles = kKeyTiles / kParts;
  // int8 values' unit depends on other rows, which batch invariance forbids.
  static constexpr bool kCuts = kFormat != KvFormat::i8;
  static_assert(kFixedSplit % Config::kWideKeys == 0);
  static constexpr int kScales = Config::kWideKeys * 4;  // bytes from K's scales to V's

  using Logits = float[kRowTiles][kPartTiles][4];  // then probabilities

  __device__ __forceinline__ WideTile(const StepArgs& args, const ItemView& view,
                                      const SharedLayout<Config>& shared)
      : args_(args),
        view_(view),
        row_scales_(shared.row_scales()),
        visible_(shared.visible(threadIdx.x / 32)),
        queries_{shared.queries()},
        lane_(opaque(threadIdx.x) % 32),
        first_row_(opaque(threadIdx.x) / 32 * kRowTiles * 16) {
    if (!Config::k8Bit) scale_ = logit_scale(args, view);
    begin();
  }

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      reference_[r] = -INFINITY;
      sum_[r] = 0.0F;
    }
    clear(out_);
    fresh_ = true;
  }

  /// The tile, behind tile i, before which sums begin anew.
  __device__ __forceinline__ static int tiles_to_cut(const StepArgs& args, const Pipeline& pipeline,
                                                     int i) {
    if (!kCuts || !args.batch_invariant) return pipeline.tiles();
    const std::int32_t inside = pipeline.slot_of(i) % kFixedSplit;
    return min(pipeline.tiles(), i + (kFixedSplit - inside) / Config::kWideKeys);
  }

  /// The lane's r-th row of 2 * kRowTiles.
  __device__ __forceinline__ int row(int r) const { return first_row_ + r * 8 + lane_ / 4; }

  /// S of a tile of keys, then its probabilities and their sums.
  __device__ __forceinline__ void take_keys(std::uint32_t keys, std::int32_t slot, bool all,
                                            std::uint32_t scales) {
    const bool plain = all && !fresh_ && args_.softcap == 0.0F;
    if (!plain || !take_quickly(keys, scales)) take_carefully(keys, slot, all, scales);
  }

  /// Where every row sees all keys, under the references that there are: nobody looks for the
  /// largest logit. False where a probability leaves the range; then nothing has happened. Parts
  /// follow each other without a branch, so that one's exponentials run beside the next one's
  /// products.
  __device__ __forceinline__ bool take_quickly(std::uint32_t keys, std::uint32_t scales) {
    if constexpr (kFormat == KvFormat::i8)
      if (!unit_.holds(largest_scale(scales + kScales, Config::kWideKeys, lane_))) return false;
    float sum[kRows] = {};
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      Logits logits;
      multiply_keys(logits, keys, part);
      if constexpr (kFormat == KvFormat::i8)
        scale_columns(logits, scales + part * kPartTiles * 32, lane_);
#pragma unroll
      for (int r = 0; r < kRows; ++r) exponentials(logits, r, row_scale(r), reference_[r], sum[r]);
      if constexpr (kFormat == KvFormat::i8)
        scale_columns(logits, scales + kScales + part * kPartTiles * 32, lane_, unit_.inverse());
      pack_probabilities(logits, part);
    }
    bool beyond = false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) beyond = beyond || sum[r] > kMostOfLane;
    if (__any_sync(~0U, beyond)) return false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum_[r] += sum[r];
    return true;
  }

  /// With masks, caps and references that rise. A row's does where the one it has does not do for
  /// it, whatever other rows of the warp need: its bits are its own.
  __device__ __forceinline__ void take_carefully(std::uint32_t keys, std::int32_t slot, bool all,
                                                 std::uint32_t scales) {
    if constexpr (kFormat == KvFormat::i8)
      multiply_all(out_, unit_.grow(largest_scale(scales + kScales, Config::kWideKeys, lane_)));
    std::uint32_t rising = rows_without_reference();
    bool tries = !__all_sync(~0U, rising == (1U << kRows) - 1);
    float sum[kRows];
#pragma unroll 1
    for (;; tries = false) {
      take_parts(keys, slot, all, scales, tries ? 0 : rising, sum);
      if (!tries) break;
      rising |= rows_beyond(sum);
      if (!__any_sync(~0U, rising != 0)) break;
    }
    fresh_ = __any_sync(~0U, rows_without_reference() != 0);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum_[r] += sum[r];
  }

  /// Probabilities of a tile, and their sums of its own. `rising`: bit r where the r-th row's
  /// reference may rise.
  __device__ __forceinline__ void take_parts(std::uint32_t keys, std::int32_t slot, bool all,
                                             std::uint32_t scales, std::uint32_t rising,
                                             float (&sum)[kRows]) {
    const bool capped_logits = args_.softcap != 0.0F;
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum[r] = 0.0F;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      Logits logits;
      multiply_keys(logits, keys, part);
      if constexpr (kFormat == KvFormat::i8)
        scale_columns(logits, scales + part * kPartTiles * 32, lane_);
      if (capped_logits) cap(logits);
      if (!all) mask(logits, slot + part * kPartTiles * 8);
      raise_references(logits, part, rising, sum);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        exponentials(logits, r, capped_logits ? 1.0F : row_scale(r), subtrahend(reference_[r]),
                     sum[r]);
      if constexpr (kFormat == KvFormat::i8)
        scale_columns(logits, scales + kScales + part * kPartTiles * 32, lane_, unit_.inverse());
      pack_probabilities(logits, part);
    }
  }

  /// Bit r: the r-th row has seen no key.
  __device__ __forceinline__ std::uint32_t rows_without_reference() const {
    std::uint32_t rows = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows |= reference_[r] == -INFINITY ? 1U << r : 0U;
    return rows;
  }

  /// Bit r: some lane's sum over the r-th row passes what probabilities may.
  __device__ __forceinline__ std::uint32_t rows_beyond(const float (&sum)[kRows]) const {
    std::uint32_t rows = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::uint32_t lanes = __ballot_sync(~0U, sum[r] > kMostOfLane);
      rows |= (lanes >> (lane_ & 28) & 15U) != 0 ? 1U << r : 0U;
    }
    return rows;
  }

  __device__ __forceinline__ void hold_queries() {
    const std::uint32_t at = queries_.chunk(first_row_ + lane_ % 16, lane_ / 16);
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; ++k)
      ptx::ldmatrix(held_[k][0], queries_.advance(at, 2 * k));
  }

  __device__ __forceinline__ void multiply_keys(Logits& logits, std::uint32_t keys, int part) {
    const SharedTile<Config::kKRow> tile{keys};
    clear(logits);
    const std::uint32_t q_at = opaque(queries_.chunk(first_row_ + lane_ % 16, lane_ / 16));
    // A load brings 16-bit keys n and n + 8 with their two chunks, or a chunk of 32 8-bit keys.
    const std::uint32_t k_at =
        opaque((Config::k8Bit ? tile.chunk(lane_, 0)
                              : tile.chunk(lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2)) +
               part * kPartTiles * 8 * Config::kKRow);
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; ++k) {
      auto& q = held_[kHoldsQueries ? k : 0];
#pragma unroll
      for (int m = 0; !kHoldsQueries && m < kRowTiles; ++m)
        ptx::ldmatrix(q[m], queries_.advance(q_at, 2 * k) + m * 16 * Config::kQRow);
#pragma unroll
      for (int n = 0; n < kPartTiles; n += kTilesALoad) {
        std::uint32_t b[4];
        ptx::ldmatrix(b, tile.advance(k_at, Config::k8Bit ? k : 2 * k) + n * 8 * Config::kKRow);
        multiply_load<kFormat>(logits, n, q, b);
      }
    }
  }

  __device__ __forceinline__ void cap(Logits& logits) const {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < kPartTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          logits[m][n][i] = capped(logits[m][n][i] * row_scale(m * 2 + i / 2), args_.softcap);
  }

  __device__ __forceinline__ float row_scale(int r) const {
    return Config::k8Bit ? ptx::load_shared_float(row_scales_ + row(r) * 4) : scale_;
  }

  /// `slot` is the first key's.
  __device__ __forceinline__ void mask(Logits& logits, std::int32_t slot) const {
    Seen seen[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int32_t position = view_.position_of(args_, row(r));
      seen[r] = ItemView::seen_from(args_, position, position);
    }
    const auto first = static_cast<std::int32_t>(opaque(slot + lane_ % 4 * 2));
#pragma unroll
    for (int n = 0; n < kPartTiles; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const std::int32_t key = first + n * 8 + j;
        const bool there = key < view_.range.slot_end;
        const std::int32_t position = there ? view_.position_of_slot(args_, key) : 0;
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          if (!there || position < seen[r].first || position > seen[r].last)
            logits[r / 2][n][r % 2 * 2 + j] = -INFINITY;
      }
  }

  /// Rounds them for the second product: half as many registers.
  __device__ __forceinline__ void pack_probabilities(const Logits& logits, int part) {
#pragma unroll
    for (int k = 0; k < kPartTiles / 2; ++k)
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          packed_[part * kPartTiles / 2 + k][m][i] = pack<kFormat>(
              logits[m][2 * k + i / 2][i % 2 * 2], logits[m][2 * k + i / 2][i % 2 * 2 + 1]);
  }

  /// Moves references of `rising` rows up to the largest logits that these have seen, where those
  /// pass them by far or there is none.
  __device__ __forceinline__ void raise_references(const Logits& logits, int part,
                                                   std::uint32_t rising, float (&sum)[kRows]) {
    if (!__any_sync(~0U, rising != 0)) return;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float now = largest(logits, r) * (args_.softcap == 0.0F ? row_scale(r) : 1.0F);
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 1));
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 2));
      const bool rises = (rising >> r & 1U) != 0 && passes<kFormat>(reference_[r], now);
      now = rises ? raised<kFormat>(reference_[r], now) : reference_[r];
      const float factor = rescale_factor(reference_[r], now);
      reference_[r] = now;
      sum_[r] *= factor;
      sum[r] *= factor;
#pragma unroll
      for (int n = 0; n < kDimTiles; ++n) {
        out_[r / 2][n][r % 2 * 2] *= factor;
        out_[r / 2][n][r % 2 * 2 + 1] *= factor;
      }
#pragma unroll
      for (int k = 0; k < part * kPartTiles / 2; ++k)
#pragma unroll
        for (int i = r % 2; i < 4; i += 2)
          packed_[k][r / 2][i] = scale_packed<kFormat>(packed_[k][r / 2][i], factor);
    }
  }

  /// O += P V.
  __device__ __forceinline__ void take_values(std::uint32_t values) {
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
    }
  }

  /// Each lane's sums of probabilities become their rows'.
  __device__ __forceinline__ void add_up_lanes() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 1);
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 2);
    }
  }

  /// Writes the warp's rows, by way of shared memory: registers hold eight rows' columns each.
  __device__ __forceinline__ void finish(float* scratch) {
    if constexpr (kFormat == KvFormat::i8) multiply_all(out_, unit_.value());
    float* rows = scratch + first_row_ * Config::kResultRow;
    const int t = lane_ % 4;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      auto* to = reinterpret_cast<float2*>(rows + (r * 8 + lane_ / 4) * Config::kResultRow);
      const auto& out = out_[r / 2];
      const int i = r % 2 * 2;
      if (t == 0) to[Config::kDimV / 2] = make_float2(reference_[r], sum_[r]);
#pragma unroll
      for (int n = 0; n < kDimTiles; n += Config::k8Bit ? 2 : 1) {
        if constexpr (Config::k8Bit) {  // tiles n and n + 1 are even and odd dimensions
          to[n * 4 + 2 * t] = make_float2(out[n][i], out[n + 1][i]);
          to[n * 4 + 2 * t + 1] = make_float2(out[n][i + 1], out[n + 1][i + 1]);
        } else {
          to[n * 4 + t] = make_float2(out[n][i], out[n][i + 1]);
        }
      }
    }
    __syncwarp();
    const int count = min(view_.item.rows - first_row_, kRowTiles * 16);
    write_rows<Config::kDimV, Config::kResultRow, 1>(args_, view_, first_row_, count, rows, 0,
                                                     lane_);
  }

  const StepArgs& args_;
  const ItemView& view_;
  const std::uint32_t row_scales_;  // in shared memory
  const std::uint32_t visible_;     // of this warp's rows, in shared memory
  const SharedTile<Config::kQRow> queries_;
  const int lane_;
  const int first_row_;  // of this warp, in the item
  ValueUnit unit_;       // i8
  bool fresh_;           // a row of the warp has no reference yet
  float scale_ = 1.0F;   // where rows have none of their own
  float reference_[kRows];
  float sum_[kRows];
  std::uint32_t held_[kHoldsQueries ? Config::kDimQk / 16 : 1][kRowTiles][4];  // q
  std::uint32_t packed_[kKeyTiles / 2][kRowTiles][4];
  float out_[kRowTiles][kDimTiles][4];
};

}  // namespace headwise::cuda::sm80
