#pragma once

#include <cstdint>

#include "cuda/sm80/item_view.cuh"
#include "cuda/sm80/merge_parts.cuh"
#include "cuda/sm80/queries.cuh"
#include "cuda/sm80/results.cuh"
#include "cuda/sm80/shared_layout.cuh"
#include "cuda/tile/products.cuh"

namespace headwise::cuda::sm80 {

/// Many rows: each warp has kRowTiles * 16 rows of its own and walks all keys, by online softmax.
/// Lane l = 4g + t holds rows g and g + 8 of each row tile: of S, columns 2t and 2t + 1 of every
/// eight keys; of O the same of every eight dimensions (8-bit V: see dim_of()).
template <class Config>
class WideTile {
 public:
  using Pipeline =
      KeyPipeline<Config::kThreads, Config::kWideKeys, Config::kKRow, Config::kVRow,
                  Config::kElement, Config::kWideSlots, Config::kFormat == KvFormat::i8>;

  __device__ static void attend(const StepArgs& args, const SharedLayout<Config>& shared) {
    const ItemView& view = shared.view();
    Pipeline pipeline(args, view.range, shared.wide_ring(), shared.wide_key_rows());
    WideTile tile(args, view, shared);
    for (int i = 0; i < pipeline.tiles(); ++i) {
      const std::int32_t slot = pipeline.slot_of(i);
      const std::uint32_t keys = pipeline.acquire_keys(i);
      const bool sees = tile.sees(slot);
      if (sees) tile.take_keys(keys, slot, pipeline.scales());
      const std::uint32_t values = pipeline.acquire_values(i);
      if (sees) tile.take_values(values, pipeline.scales());
    }
    pipeline.drain();
    tile.finish();
    if (view.item.part_row >= 0)
      merge_parts_if_last<Config::kThreads>(
          args, view, reinterpret_cast<float*>(shared.wide_ring()), shared.last_flag());
  }

 private:
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr int kRowTiles = Config::kRowTiles;
  static constexpr int kKeyTiles = Config::kWideKeys / 8;
  static constexpr int kDimTiles = Config::kDimV / 8;

  __device__ __forceinline__ WideTile(const StepArgs& args, const ItemView& view,
                                      const SharedLayout<Config>& shared)
      : args_(args),
        view_(view),
        row_scales_(shared.row_scales()),
        positions_(shared.warp_positions()[threadIdx.x / 32]),
        queries_{ptx::shared_address(shared.queries())},
        lane_(opaque(threadIdx.x) % 32),
        first_row_(opaque(threadIdx.x) / 32 * kRowTiles * 16) {
    load_queries<Config, Config::kWideRows>(args, view, queries_.base, shared.row_scales());
    const int last_row = min(first_row_ + kRowTiles * 16, view.item.rows) - 1;
    if (lane_ == 0)
      positions_ = make_int2(view.position_of(args, first_row_), view.position_of(args, last_row));
    __syncthreads();
    if (!Config::k8Bit) scale_ = logit_scale(args, view);
#pragma unroll
    for (int r = 0; r < kRowTiles * 2; ++r) {
      reference_[r] = -INFINITY;
      sum_[r] = 0.0F;
    }
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < kDimTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) out_[m][n][i] = 0.0F;
  }

  /// The lane's r-th row of 2 * kRowTiles.
  __device__ __forceinline__ int row(int r) const { return first_row_ + r * 8 + lane_ / 4; }

  /// Whether a row of this warp sees a key of the tile at `slot`.
  __device__ __forceinline__ bool sees(std::int32_t slot) const {
    if (first_row_ >= view_.item.rows) return false;
    if (args_.positions != nullptr) return true;
    const Seen seen = ItemView::seen_from(args_, positions_.x, positions_.y);
    return slot <= seen.last && slot + (Config::kWideKeys - 1) >= seen.first;
  }

  /// Whether every row of this warp sees all keys of the tile at `slot`.
  __device__ __forceinline__ bool all_visible(std::int32_t slot) const {
    const std::int32_t last = slot + (Config::kWideKeys - 1);
    const Seen by_first = ItemView::seen_from(args_, positions_.x, positions_.x);
    const Seen by_last = ItemView::seen_from(args_, positions_.y, positions_.y);
    return args_.positions == nullptr && last < view_.range.slot_end && last <= by_first.last &&
           slot >= by_last.first;
  }

  /// S of a tile of keys, masked, and the probabilities and sums that follow.
  __device__ __forceinline__ void take_keys(std::uint32_t keys, std::int32_t slot,
                                            const float* scales) {
    multiply_keys(keys);
    if constexpr (kFormat == KvFormat::i8) scale_keys(scales);
    scale_logits();
    if (!all_visible(slot)) mask(slot);
    softmax();
  }

  __device__ __forceinline__ void multiply_keys(std::uint32_t keys) {
    const SharedTile<Config::kKRow> tile{keys};
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) logits_[m][n][i] = 0.0F;
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
      for (int n = 0; n < kKeyTiles; n += Config::k8Bit ? 4 : 2) {
        std::uint32_t b[4];
        ptx::ldmatrix(b, tile.advance(k_at, Config::k8Bit ? k : 2 * k) + n * 8 * Config::kKRow);
        if constexpr (Config::k8Bit) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const ptx::F16Pairs wide = widen<kFormat>(b[j]);
#pragma unroll
            for (int m = 0; m < kRowTiles; ++m)
              multiply<kFormat>(logits_[m][n + j], q[m], wide.low, wide.high);
          }
        } else {
#pragma unroll
          for (int m = 0; m < kRowTiles; ++m) {
            multiply<kFormat>(logits_[m][n], q[m], b[0], b[1]);
            multiply<kFormat>(logits_[m][n + 1], q[m], b[2], b[3]);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void scale_keys(const float* scales) {
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
      const float2 scale = *reinterpret_cast<const float2*>(scales + n * 8 + lane_ % 4 * 2);
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) logits_[m][n][i] *= i % 2 == 0 ? scale.x : scale.y;
    }
  }

  /// Only a cap needs the scale before the exponential applies it.
  __device__ __forceinline__ void scale_logits() {
    if (args_.softcap == 0.0F) return;
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          logits_[m][n][i] = capped(logits_[m][n][i] * row_scale(m * 2 + i / 2), args_.softcap);
  }

  __device__ __forceinline__ float row_scale(int r) const {
    return Config::k8Bit ? row_scales_[row(r)] : scale_;
  }
  __device__ __forceinline__ float scale_of(int r) const {
    return args_.softcap == 0.0F ? row_scale(r) : 1.0F;
  }

  __device__ __forceinline__ void mask(std::int32_t slot) {
    Seen seen[kRowTiles * 2];
#pragma unroll
    for (int r = 0; r < kRowTiles * 2; ++r) {
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
        for (int r = 0; r < kRowTiles * 2; ++r)
          if (!there || position < seen[r].first || position > seen[r].last)
            logits_[r / 2][n][r % 2 * 2 + j] = -INFINITY;
      }
  }

  /// The lane's largest logit of its r-th row, in base 2.
  __device__ __forceinline__ float largest(int r) const {
    float value = logits_[r / 2][0][r % 2 * 2];
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
      value = fmaxf(value, fmaxf(logits_[r / 2][n][r % 2 * 2], logits_[r / 2][n][r % 2 * 2 + 1]));
    return value * scale_of(r);
  }

  __device__ __forceinline__ void softmax() {
    float top[kRowTiles * 2];
    bool grows = false;
#pragma unroll
    for (int r = 0; r < kRowTiles * 2; ++r) {
      top[r] = largest(r);
      grows = grows || reference_of<kFormat>(top[r]) > reference_[r] + kSlackBits;
    }
    if (__any_sync(~0U, grows)) rescale(top);
#pragma unroll
    for (int r = 0; r < kRowTiles * 2; ++r) {
      const float away = subtrahend(reference_[r]);
      const float scale = scale_of(r);
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& logit = logits_[r / 2][n][r % 2 * 2 + j];
          logit = ptx::exp2(fmaf(logit, scale, -away));
          sum_[r] += logit;
        }
    }
  }

  /// Moves the references up to the largest logits that the rows have seen.
  __device__ __forceinline__ void rescale(const float (&top)[kRowTiles * 2]) {
#pragma unroll
    for (int r = 0; r < kRowTiles * 2; ++r) {
      float now = top[r];
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 1));
      now = fmaxf(now, __shfl_xor_sync(~0U, now, 2));
      now = fmaxf(reference_of<kFormat>(now), reference_[r]);
      const float factor = rescale_factor(reference_[r], now);
      reference_[r] = now;
      sum_[r] *= factor;
#pragma unroll
      for (int n = 0; n < kDimTiles; ++n) {
        out_[r / 2][n][r % 2 * 2] *= factor;
        out_[r / 2][n][r % 2 * 2 + 1] *= factor;
      }
    }
  }

  /// O += P V.
  __device__ __forceinline__ void take_values(std::uint32_t values, const float* scales) {
    if constexpr (kFormat == KvFormat::i8) scale_keys(scales);
    const SharedTile<Config::kVRow> tile{values};
    const std::uint32_t v_at = opaque(tile.chunk(lane_ % 16, lane_ / 16));
#pragma unroll
    for (int k = 0; k < kKeyTiles; k += 2) {
      std::uint32_t p[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          p[m][i] =
              pack<kFormat>(logits_[m][k + i / 2][i % 2 * 2], logits_[m][k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int n = 0; n < kDimTiles; n += Config::k8Bit ? 4 : 2) {
        std::uint32_t b[4];  // chunk n and the next one, in halves of the sixteen keys
        ptx::ldmatrix_transposed(
            b, tile.advance(v_at, Config::k8Bit ? n / 2 : n) + k * 8 * Config::kVRow);
        if constexpr (Config::k8Bit) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const ptx::F16Pairs first = widen<kFormat>(__byte_perm(b[2 * c], 0, 0x3120));
            const ptx::F16Pairs second = widen<kFormat>(__byte_perm(b[2 * c + 1], 0, 0x3120));
#pragma unroll
            for (int m = 0; m < kRowTiles; ++m) {
              multiply<kFormat>(out_[m][n + 2 * c], p[m], first.low, second.low);
              multiply<kFormat>(out_[m][n + 2 * c + 1], p[m], first.high, second.high);
            }
          }
        } else {
#pragma unroll
          for (int m = 0; m < kRowTiles; ++m) {
            multiply<kFormat>(out_[m][n], p[m], b[0], b[1]);
            multiply<kFormat>(out_[m][n + 1], p[m], b[2], b[3]);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int r = 0; r < kRowTiles * 2; ++r) {
      float sum = sum_[r];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      if (row(r) >= view_.item.rows) continue;
      const float factor = finish_row(args_, view_, row(r), reference_[r], sum, lane_ % 4 == 0);
      const int t = lane_ % 4;
      const int i = r % 2 * 2;
#pragma unroll
      for (int n = 0; n < kDimTiles; n += Config::k8Bit ? 2 : 1) {
        if constexpr (Config::k8Bit) {  // tiles n and n + 1 are even and odd dimensions
          store_columns(args_, view_, row(r), n * 8 + 4 * t, factor, out_[r / 2][n][i],
                        out_[r / 2][n + 1][i]);
          store_columns(args_, view_, row(r), n * 8 + 4 * t + 2, factor, out_[r / 2][n][i + 1],
                        out_[r / 2][n + 1][i + 1]);
        } else {
          store_columns(args_, view_, row(r), n * 8 + 2 * t, factor, out_[r / 2][n][i],
                        out_[r / 2][n][i + 1]);
        }
      }
    }
  }

  const StepArgs& args_;
  const ItemView& view_;
  const float* row_scales_;  // in shared memory
  int2& positions_;          // of this warp's first and last row, in shared memory
  const SharedTile<Config::kQRow> queries_;
  const int lane_;
  const int first_row_;  // of this warp, in the item
  float scale_ = 1.0F;  // where rows have none of their own
  float reference_[kRowTiles * 2];
  float sum_[kRowTiles * 2];
  float logits_[kRowTiles][kKeyTiles][4];  // then probabilities
  float out_[kRowTiles][kDimTiles][4];
};

}  // namespace headwise::cuda::sm80
