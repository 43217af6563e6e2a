#pragma once

#include <cstdint>

#include "cuda/paging/key_pipeline.cuh"
#include "cuda/sm80/item_queue.cuh"
#include "cuda/sm80/shared_layout.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/step/results.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/products.cuh"
#include "cuda/tile/value_unit.cuh"

namespace headwise::cuda::sm80 {

/// Few rows: each warp takes kWarpKeys keys of every tile and all rows, keeps statistics and sums
/// of its own, and the warps merge at the end. Products are S^T = K Q^T and O^T = V^T P^T, so that
/// keys and dimensions fill the sixteen rows of a product and few query rows its eight columns.
/// Lane l = 4g + t holds query rows 2t and 2t + 1 of every eight: of S^T, keys g and g + 8 of
/// sixteen; of O^T, dimensions g and g + 8 of sixteen (8-bit V: 2g and 2g + 1).
template <class Config>
class NarrowTile {
 public:
  using Pipeline =
      KeyPipeline<Config::kThreads, Config::kNarrowKeys, Config::kKRow, Config::kVRow,
                  Config::kElement, Config::kNarrowSlots, Config::kFormat == KvFormat::i8>;

  __device__ __forceinline__ static void attend(const StepArgs& args,
                                                const SharedLayout<Config>& shared) {
    const ItemView& view = shared.view();
    load_queries<Config, kRows>(args, view, shared.queries(), shared.row_scales(),
                                shared.narrow_key_rows() - kRows * 8);
    if (threadIdx.x == 0) shared.visible_of(0).set(args, view, 0, view.item.rows - 1);
    Pipeline pipeline(args, shared.key_range(), shared.narrow_ring(), shared.narrow_key_rows());
    NarrowTile tile(args, view, shared);
    for (int i = 0; i < pipeline.tiles(); ++i) {
      const std::int32_t slot = pipeline.slot_of(i);
      const std::uint32_t keys = pipeline.acquire_keys(i);
      tile.take_keys(keys, slot, pipeline.scales());
      const std::uint32_t values = pipeline.acquire_values(i);
      tile.take_values(values);
    }
    pipeline.drain();
    if (threadIdx.x == 0) claim_item(args, shared.counts().items, &shared.next_work());
    tile.finish(shared.scratch());
  }

 private:
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr int kRows = Config::kNarrowRows;
  static constexpr int kColumnTiles = kRows / 8;  // of query rows
  static constexpr int kKeyTiles = Config::kWarpKeys / 16;
  static constexpr int kDims = Config::kDimV / Config::kDimWarps;  // of this warp
  static constexpr int kDimTiles = kDims / 16;

  __device__ __forceinline__ NarrowTile(const StepArgs& args, const ItemView& view,
                                        const SharedLayout<Config>& shared)
      : args_(args),
        view_(view),
        row_scales_(shared.row_scales()),
        visible_(shared.visible(0)),
        queries_{shared.queries()},
        lane_(opaque(threadIdx.x) % 32),
        key_warp_(opaque(threadIdx.x) / 32 % Config::kKeyWarps),
        dim_warp_(opaque(threadIdx.x) / 32 / Config::kKeyWarps) {
    if (!Config::k8Bit) scale_ = logit_scale(args, view);
#pragma unroll
    for (int c = 0; c < kColumnTiles * 2; ++c) {
      reference_[c] = -INFINITY;
      sum_[c] = 0.0F;
    }
    clear(out_);
  }

  /// The lane's c-th query row of 2 * kColumnTiles.
  __device__ __forceinline__ int row(int c) const { return c / 2 * 8 + lane_ % 4 * 2 + c % 2; }

  __device__ __forceinline__ void take_keys(std::uint32_t keys, std::int32_t slot,
                                            std::uint32_t scales) {
    multiply_keys(keys);
    if constexpr (kFormat == KvFormat::i8) scale_keys(scales);
    if (args_.softcap != 0.0F) cap();
    if (!all_visible(slot)) mask(slot + key_warp_ * Config::kWarpKeys);
    softmax();
    if constexpr (kFormat == KvFormat::i8) {
      const std::uint32_t own = scales + Config::kNarrowKeys * 4;
      const std::uint32_t first = own + key_warp_ * Config::kWarpKeys * 4;
      multiply_all(out_, unit_.grow(largest_scale(first, Config::kWarpKeys, lane_)));
      scale_keys(own, unit_.inverse());
    }
  }

  __device__ __forceinline__ void multiply_keys(std::uint32_t keys) {
    const SharedTile<Config::kKRow> tile{keys};
    clear(logits_);
    const std::uint32_t q_at = opaque(queries_.chunk(lane_ % 8, lane_ / 8));
    const std::uint32_t k_at =
        opaque(tile.chunk(key_warp_ * Config::kWarpKeys + lane_ % 16, lane_ / 16));
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; k += 2) {
      std::uint32_t q[kColumnTiles][4];  // of products k and k + 1, two registers each
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n)
        ptx::ldmatrix(q[n], queries_.advance(q_at, k * 2) + n * 8 * Config::kQRow);
#pragma unroll
      for (int m = 0; m < kKeyTiles; ++m) {
        if constexpr (Config::k8Bit) {
          std::uint32_t b[4];
          ptx::ldmatrix(b, tile.advance(k_at, k) + m * 16 * Config::kKRow);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const ptx::F16Pairs first = widen<kFormat>(b[2 * half]);
            const ptx::F16Pairs second = widen<kFormat>(b[2 * half + 1]);
            const std::uint32_t a[4] = {first.low, second.low, first.high, second.high};
#pragma unroll
            for (int n = 0; n < kColumnTiles; ++n)
              multiply<kFormat>(logits_[m][n], a, q[n][2 * half], q[n][2 * half + 1]);
          }
        } else {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            std::uint32_t a[4];
            ptx::ldmatrix(a, tile.advance(k_at, (k + half) * 2) + m * 16 * Config::kKRow);
#pragma unroll
            for (int n = 0; n < kColumnTiles; ++n)
              multiply<kFormat>(logits_[m][n], a, q[n][2 * half], q[n][2 * half + 1]);
          }
        }
      }
    }
  }

  /// Multiplies keys' rows of S^T, or of P^T, by a scale each.
  __device__ __forceinline__ void scale_keys(std::uint32_t scales, float factor = 1.0F) {
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float scale =
            factor * ptx::load_shared_float(
                         scales + (key_warp_ * Config::kWarpKeys + m * 16 + h * 8 + lane_ / 4) * 4);
#pragma unroll
        for (int n = 0; n < kColumnTiles; ++n) {
          logits_[m][n][2 * h] *= scale;
          logits_[m][n][2 * h + 1] *= scale;
        }
      }
  }

  __device__ __forceinline__ void cap() {
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          logits_[m][n][i] = capped(logits_[m][n][i] * row_scale(n * 2 + i % 2), args_.softcap);
  }

  __device__ __forceinline__ float row_scale(int c) const {
    return Config::k8Bit ? ptx::load_shared_float(row_scales_ + row(c) * 4) : scale_;
  }
  __device__ __forceinline__ float scale_of(int c) const {
    return args_.softcap == 0.0F ? row_scale(c) : 1.0F;
  }

  __device__ __forceinline__ bool all_visible(std::int32_t slot) const {
    return Visible::at(visible_).all(slot, Config::kNarrowKeys);
  }

  /// `slot` is the first key's of this warp.
  __device__ __forceinline__ void mask(std::int32_t slot) {
    Seen seen[kColumnTiles * 2];
#pragma unroll
    for (int c = 0; c < kColumnTiles * 2; ++c) {
      const std::int32_t position = view_.position_of(args_, row(c));
      seen[c] = ItemView::seen_from(args_, position, position);
    }
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::int32_t key = slot + m * 16 + h * 8 + lane_ / 4;
        const bool there = key < view_.range.slot_end;
        const std::int32_t position = there ? view_.position_of_slot(args_, key) : 0;
#pragma unroll
        for (int c = 0; c < kColumnTiles * 2; ++c)
          if (!there || position < seen[c].first || position > seen[c].last)
            logits_[m][c / 2][2 * h + c % 2] = -INFINITY;
      }
  }

  __device__ __forceinline__ void softmax() {
    float top[kColumnTiles * 2];
    bool grows = false;
#pragma unroll
    for (int c = 0; c < kColumnTiles * 2; ++c) {
      float value = -INFINITY;
#pragma unroll
      for (int m = 0; m < kKeyTiles; ++m)
        value = fmaxf(value, fmaxf(logits_[m][c / 2][c % 2], logits_[m][c / 2][2 + c % 2]));
      top[c] = value * scale_of(c);
      grows = grows || passes<kFormat>(reference_[c], top[c]);
    }
    if (__any_sync(~0U, grows)) rescale(top);
#pragma unroll
    for (int c = 0; c < kColumnTiles * 2; ++c) {
      const float away = subtrahend(reference_[c]);
      const float scale = scale_of(c);
#pragma unroll
      for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float& logit = logits_[m][c / 2][2 * h + c % 2];
          logit = ptx::exp2(fmaf(logit, scale, -away));
          sum_[c] += logit;
        }
    }
  }

  __device__ __forceinline__ void rescale(const float (&top)[kColumnTiles * 2]) {
#pragma unroll
    for (int c = 0; c < kColumnTiles * 2; ++c) {
      float now = top[c];
#pragma unroll
      for (int step = 4; step < 32; step *= 2) now = fmaxf(now, __shfl_xor_sync(~0U, now, step));
      now = raised<kFormat>(reference_[c], now);
      const float factor = rescale_factor(reference_[c], now);
      reference_[c] = now;
      sum_[c] *= factor;
#pragma unroll
      for (int m = 0; m < kDimTiles; ++m) {
        out_[m][c / 2][c % 2] *= factor;
        out_[m][c / 2][2 + c % 2] *= factor;
      }
    }
  }

  /// O^T += V^T P^T.
  __device__ __forceinline__ void take_values(std::uint32_t values) {
    const SharedTile<Config::kVRow> tile{values};
    const int key = key_warp_ * Config::kWarpKeys;
    const std::uint32_t v_at =
        opaque(Config::k8Bit ? tile.chunk(key + lane_ % 16, dim_warp_ * (kDims / 16) + lane_ / 16)
                             : tile.chunk(key + lane_ % 8 + lane_ / 16 * 8,
                                          dim_warp_ * (kDims / 8) + lane_ / 8 % 2));
#pragma unroll
    for (int k = 0; k < kKeyTiles; ++k) {
      std::uint32_t p[kColumnTiles][2];
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
        for (int h = 0; h < 2; ++h)
          p[n][h] = ptx::movmatrix(pack<kFormat>(logits_[k][n][2 * h], logits_[k][n][2 * h + 1]));
#pragma unroll
      for (int m = 0; m < kDimTiles; m += Config::k8Bit ? 2 : 1) {
        if constexpr (Config::k8Bit) {
          std::uint32_t b[4];  // dimension tiles m and m + 1, each of keys 0-7 and 8-15
          ptx::ldmatrix_transposed(b, tile.advance(v_at, m) + k * 16 * Config::kVRow);
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const ptx::F16Pairs low = widen<kFormat>(__byte_perm(b[2 * c], 0, 0x3120));
            const ptx::F16Pairs high = widen<kFormat>(__byte_perm(b[2 * c + 1], 0, 0x3120));
            const std::uint32_t a[4] = {low.low, low.high, high.low, high.high};
#pragma unroll
            for (int n = 0; n < kColumnTiles; ++n)
              multiply<kFormat>(out_[m + c][n], a, p[n][0], p[n][1]);
          }
        } else {
          std::uint32_t a[4];  // dimensions 0-7 and 8-15 of keys 0-7, then of keys 8-15
          ptx::ldmatrix_transposed(a, tile.advance(v_at, m * 2) + k * 16 * Config::kVRow);
#pragma unroll
          for (int n = 0; n < kColumnTiles; ++n) multiply<kFormat>(out_[m][n], a, p[n][0], p[n][1]);
        }
      }
    }
  }

  /// Dimension of the lane's element i of a dimension tile.
  __device__ __forceinline__ int dim(int m, int i) const {
    const int g = lane_ / 4;
    return dim_warp_ * kDims + m * 16 + (Config::k8Bit ? 2 * g + i / 2 : g + i / 2 * 8);
  }

  /// Merges the warps' results and writes them.
  __device__ __forceinline__ void finish(float* scratch) {
    if constexpr (kFormat == KvFormat::i8) multiply_all(out_, unit_.value());
    constexpr int kToNext = kRows * Config::kResultRow;  // floats from one key warp's rows
#pragma unroll
    for (int c = 0; c < kColumnTiles * 2; ++c) {
      float sum = sum_[c];
#pragma unroll
      for (int step = 4; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
      float* to = scratch + key_warp_ * kToNext + row(c) * Config::kResultRow;
      if (lane_ < 4 && dim_warp_ == 0) {
        to[Config::kDimV] = reference_[c];
        to[Config::kDimV + 1] = sum;
      }
#pragma unroll
      for (int m = 0; m < kDimTiles; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) to[dim(m, 2 * h)] = out_[m][c / 2][2 * h + c % 2];
    }
    __syncthreads();
    constexpr int kRowsAWarp = kRows / Config::kWarps;
    const int first = threadIdx.x / 32 * kRowsAWarp;
    write_rows<Config::kDimV, Config::kResultRow, Config::kKeyWarps>(
        args_, view_, first, min(view_.item.rows - first, kRowsAWarp),
        scratch + first * Config::kResultRow, kToNext, lane_);
  }

  const StepArgs& args_;
  const ItemView& view_;
  const std::uint32_t row_scales_;  // in shared memory
  const std::uint32_t visible_;     // of this warp's rows, in shared memory
  const SharedTile<Config::kQRow> queries_;
  const int lane_;
  const int key_warp_;
  const int dim_warp_;
  ValueUnit unit_;      // i8
  float scale_ = 1.0F;  // where rows have none of their own
  float reference_[kColumnTiles * 2];
  float sum_[kColumnTiles * 2];
  float logits_[kKeyTiles][kColumnTiles][4];  // of S^T, then of P^T
  float out_[kDimTiles][kColumnTiles][4];     // of O^T
};

}  // namespace headwise::cuda::sm80
