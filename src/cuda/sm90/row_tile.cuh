#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/ptx/tensor_copy.cuh"
#include "cuda/sm90/shared_layout.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/queries.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/box_tile.cuh"
#include "cuda/tile/products.cuh"
#include "cuda/tile/shared_tile.cuh"
#include "cuda/tile/value_unit.cuh"

namespace headwise::cuda::sm90 {

/// A warp's eight query rows of an item and its kWarpKeys keys of every tile, with statistics and
/// sums of its own. Products are S^T = K Q^T and O^T = V^T P^T, so that keys and dimensions fill
/// the sixteen rows of a product and query rows its eight columns. Lane l = 4g + t holds query rows
/// 2t and 2t + 1; of S^T, keys g and g + 8 of sixteen; of O^T, dimensions g and g + 8 of sixteen
/// (8-bit V: 2g and 2g + 1).
template <class Config>
class RowTile {
 public:
  /// q is in shared memory.
  __device__ __forceinline__ RowTile(const StepArgs& args, const HandedItem& item,
                                     const SharedLayout<Config>& shared)
      : args_(args),
        view_(item.view),
        visible_(ptx::shared_address(&item.visible)),
        row_scales_(shared.row_scales()),
        lane_(opaque(threadIdx.x) % 32),
        key_(opaque(threadIdx.x) / 32 % Config::kKeyWarps * Config::kWarpKeys),
        first_row_(opaque(threadIdx.x) / 32 / Config::kKeyWarps * 8) {
    if (!Config::k8Bit) scale_ = logit_scale(args, view_);
    const SharedTile<Config::kQRow> queries{shared.queries()};
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; k += 2) {
      std::uint32_t q[4];  // of products k and k + 1, two registers each
      ptx::ldmatrix(q, queries.chunk(first_row_ + lane_ % 8, k * 2 + lane_ / 8));
#pragma unroll
      for (int i = 0; i < 4; ++i) query_[k + i / 2][i % 2] = q[i];
    }
    clear(out_);
  }

  /// The tile from `slot` on, which is in `place` or on its way there.
  __device__ __forceinline__ void take(const SharedLayout<Config>& shared,
                                       const RingPlace<Config::kStages>& place, std::int32_t slot) {
    ptx::mbarrier_wait(shared.keys_full(place.index()), place.parity());
    __syncwarp();
    multiply_keys(shared.keys(place.index()));
    if constexpr (kTokenScales) scale_keys(shared.key_scales(place.index()));
    release(shared.keys_empty(place.index()));
    const bool all = Visible::at(visible_).all(slot, Config::kKeys);
    if (args_.softcap != 0.0F) cap();
    if (!all) mask(slot + key_);
    softmax();
    ptx::mbarrier_wait(shared.values_full(place.index()), place.parity());
    __syncwarp();
    if constexpr (kTokenScales)
      scale_probabilities(shared.value_scales(place.index()));
    else if (!all)
      clear_dead(shared.values(place.index()), slot + key_);
    multiply_values(shared.values(place.index()));
    release(shared.values_empty(place.index()));
  }

  /// i8, once all tiles are taken: sums are counted in ones.
  __device__ __forceinline__ void leave_unit() { multiply_all(out_, unit_.value()); }

  __device__ __forceinline__ int lane() const { return lane_; }
  __device__ __forceinline__ int key_warp() const { return key_ / Config::kWarpKeys; }
  /// Of the item: the lane's c-th of two.
  __device__ __forceinline__ int row(int c) const { return first_row_ + lane_ % 4 * 2 + c; }
  __device__ __forceinline__ float reference(int c) const { return reference_[c]; }
  /// Of all of the warp's keys.
  __device__ __forceinline__ float sum(int c) const {
    float sum = sum_[c];
#pragma unroll
    for (int step = 4; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
    return sum;
  }

  static constexpr int kDimTiles = Config::kDimV / 16;
  /// The lane's dimension h of two of dimension tile m, and its sum for row c.
  __device__ __forceinline__ int dim(int m, int h) const {
    return m * 16 + (Config::k8Bit ? lane_ / 4 * 2 + h : lane_ / 4 + h * 8);
  }
  __device__ __forceinline__ float out(int m, int h, int c) const { return out_[m][0][2 * h + c]; }

 private:
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr bool kTokenScales = Config::kTokenScales;
  static constexpr int kKeyTiles = Config::kWarpKeys / 16;
  using Tile = BoxTile<Config::kKeys>;
  struct NoUnit {};

  __device__ __forceinline__ void release(std::uint32_t barrier) const {
    __syncwarp();
    if (lane_ == 0) ptx::mbarrier_arrive(barrier);
  }

  /// In two sums: a product waits for the one before it.
  __device__ __forceinline__ void multiply_keys(std::uint32_t keys) {
    clear(logits_);
    float others[kKeyTiles][1][4];
    clear(others);
    const std::uint32_t at = opaque(Tile{keys}.chunk(key_ + lane_ % 16, lane_ / 16));
#pragma unroll
    for (int k = 0; k < Config::kDimQk / 16; k += 2)
#pragma unroll
      for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          std::uint32_t a[4];
          fetch_keys(a, at + m * 16 * 128, k, half);
          multiply<kFormat>(half == 0 ? logits_[m][0] : others[m][0], a, query_[k + half][0],
                            query_[k + half][1]);
        }
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) logits_[m][0][i] += others[m][0][i];
  }

  /// K of product k + half for sixteen keys; 8-bit K comes for k and k + 1 together.
  __device__ __forceinline__ void fetch_keys(std::uint32_t (&a)[4], std::uint32_t at, int k,
                                             int half) {
    if constexpr (Config::k8Bit) {
      if (half == 0) ptx::ldmatrix(bytes_, Tile::advance(at, k));
      const ptx::F16Pairs first = widen<kFormat>(bytes_[2 * half]);
      const ptx::F16Pairs second = widen<kFormat>(bytes_[2 * half + 1]);
      a[0] = first.low;
      a[1] = second.low;
      a[2] = first.high;
      a[3] = second.high;
    } else {
      ptx::ldmatrix(a, Tile::advance(at, (k + half) * 2));
    }
  }

  /// Multiplies keys' rows of S^T, or of P^T, by a scale each.
  __device__ __forceinline__ void scale_keys(std::uint32_t scales, float factor = 1.0F) {
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t at = scales + (key_ + m * 16 + h * 8 + lane_ / 4) * 4;
        const float scale = factor * ptx::load_shared_float(at);
        logits_[m][0][2 * h] *= scale;
        logits_[m][0][2 * h + 1] *= scale;
      }
  }

  /// Makes P^T count in values' codes. Those that no row sees are numbers, and their scales are 0.
  __device__ __forceinline__ void scale_probabilities(std::uint32_t scales) {
    const float largest = largest_scale(scales + key_ * 4, Config::kWarpKeys, lane_);
    if (!unit_.holds(largest)) multiply_all(out_, unit_.grow(largest));
    scale_keys(scales, unit_.inverse());
  }

  __device__ __forceinline__ float row_scale(int c) const {
    return Config::k8Bit ? ptx::load_shared_float(row_scales_ + row(c) * 4) : scale_;
  }
  __device__ __forceinline__ float scale_of(int c) const {
    return args_.softcap == 0.0F ? row_scale(c) : 1.0F;
  }

  __device__ __forceinline__ void cap() {
#pragma unroll
    for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        logits_[m][0][i] = capped(logits_[m][0][i] * row_scale(i % 2), args_.softcap);
  }

  /// `slot` is the first key's of this warp.
  __device__ __forceinline__ void mask(std::int32_t slot) {
    Seen seen[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
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
        for (int c = 0; c < 2; ++c)
          if (!there || position < seen[c].first || position > seen[c].last)
            logits_[m][0][2 * h + c] = -INFINITY;
      }
  }

  /// Makes zeros of values that no row of the request sees: 0 times NaN is NaN.
  __device__ __forceinline__ void clear_dead(std::uint32_t values, std::int32_t slot) {
    const std::int32_t key = slot + lane_;
    bool dead = key >= view_.range.slot_end;
    if (!dead && lane_ < Config::kWarpKeys) {
      const std::int32_t position = view_.position_of_slot(args_, key);
      dead = position < view_.range.first_seen || position > view_.range.last_seen;
    }
    unsigned rows = __ballot_sync(~0U, dead && lane_ < Config::kWarpKeys);
    for (; rows != 0; rows &= rows - 1)
      for (int chunk = lane_; chunk < Config::kVBoxes * 8; chunk += 32) {
        const std::uint32_t to = Tile{values}.chunk(key_ + __ffs(rows) - 1, chunk);
        ptx::store_shared_64(to, 0);
        ptx::store_shared_64(to + 8, 0);
      }
    ptx::fence_before_copies();
    __syncwarp();
  }

  __device__ __forceinline__ void softmax() {
    float top[2];
    bool grows = false;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float value = -INFINITY;
#pragma unroll
      for (int m = 0; m < kKeyTiles; ++m)
        value = fmaxf(value, fmaxf(logits_[m][0][c], logits_[m][0][2 + c]));
      top[c] = value * scale_of(c);
      grows = grows || passes<kFormat>(reference_[c], top[c]);
    }
    if (__any_sync(~0U, grows)) rescale(top);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float away = subtrahend(reference_[c]);
      const float scale = scale_of(c);
#pragma unroll
      for (int m = 0; m < kKeyTiles; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float& logit = logits_[m][0][2 * h + c];
          logit = ptx::exp2(fmaf(logit, scale, -away));
          sum_[c] += logit;
        }
    }
  }

  __device__ __forceinline__ void rescale(const float (&top)[2]) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float now = top[c];
#pragma unroll
      for (int step = 4; step < 32; step *= 2) now = fmaxf(now, __shfl_xor_sync(~0U, now, step));
      now = raised<kFormat>(reference_[c], now);
      const float factor = rescale_factor(reference_[c], now);
      reference_[c] = now;
      sum_[c] *= factor;
#pragma unroll
      for (int m = 0; m < kDimTiles; ++m) {
        out_[m][0][c] *= factor;
        out_[m][0][2 + c] *= factor;
      }
    }
  }

  /// O^T += V^T P^T.
  __device__ __forceinline__ void multiply_values(std::uint32_t values) {
    const std::uint32_t at = opaque(
        Config::k8Bit ? Tile{values}.chunk(key_ + lane_ % 16, lane_ / 16)
                      : Tile{values}.chunk(key_ + lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2));
#pragma unroll
    for (int k = 0; k < kKeyTiles; ++k) {
      std::uint32_t p[2];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        p[h] = ptx::movmatrix(pack<kFormat>(logits_[k][0][2 * h], logits_[k][0][2 * h + 1]));
#pragma unroll
      for (int m = 0; m < kDimTiles; m += Config::k8Bit ? 2 : 1) {
        std::uint32_t a[4];
        ptx::ldmatrix_transposed(a, Tile::advance(at, Config::k8Bit ? m : m * 2) + k * 16 * 128);
        if constexpr (Config::k8Bit) {  // dimension tiles m and m + 1, each of keys 0-7 and 8-15
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const ptx::F16Pairs low = widen<kFormat>(__byte_perm(a[2 * c], 0, 0x3120));
            const ptx::F16Pairs high = widen<kFormat>(__byte_perm(a[2 * c + 1], 0, 0x3120));
            const std::uint32_t wide[4] = {low.low, low.high, high.low, high.high};
            multiply<kFormat>(out_[m + c][0], wide, p[0], p[1]);
          }
        } else {  // dimensions 0-7 and 8-15 of keys 0-7, then of keys 8-15
          multiply<kFormat>(out_[m][0], a, p[0], p[1]);
        }
      }
    }
  }

  const StepArgs& args_;
  const ItemView& view_;
  const std::uint32_t visible_;     // to the item's rows, in shared memory
  const std::uint32_t row_scales_;  // in shared memory
  const int lane_;
  const int key_;        // this warp's first one of a tile
  const int first_row_;  // of this warp
  [[no_unique_address]] std::conditional_t<kTokenScales, ValueUnit, NoUnit> unit_;
  float scale_ = 1.0F;  // where rows have none of their own
  float reference_[2] = {-INFINITY, -INFINITY};
  float sum_[2] = {};
  std::uint32_t query_[Config::kDimQk / 16][2];
  std::uint32_t bytes_[4];         // 8-bit K on its way
  float logits_[kKeyTiles][1][4];  // of S^T, then of P^T
  float out_[kDimTiles][1][4];     // of O^T
};

}  // namespace headwise::cuda::sm90
