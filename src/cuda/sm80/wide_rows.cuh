#pragma once

#include <cstdint>

#include "cuda/sm80/shared_layout.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step/results.cuh"
#include "cuda/tile/accumulators.cuh"
#include "cuda/tile/products.cuh"
#include "cuda/tile/value_unit.cuh"

namespace headwise::cuda::sm80 {

/// The kRowTiles * 16 rows of a warp of a wide tile: logits to probabilities by online softmax, and
/// the sums over the keys so far. Lane l = 4g + t holds rows g and g + 8 of each row tile: of S,
/// columns 2t and 2t + 1 of every eight keys; of O the same of every eight dimensions (8-bit V: see
/// finish()).
template <class Config>
class WideRows {
 protected:
  static constexpr KvFormat kFormat = Config::kFormat;
  static constexpr int kRowTiles = Config::kRowTiles;
  static constexpr int kKeyTiles = Config::kWideKeys / 8;
  static constexpr int kDimTiles = Config::kDimV / 8;
  static constexpr int kRows = kRowTiles * 2;  // of a lane

  using Logits = float[kRowTiles][kKeyTiles][4];  // then probabilities

  __device__ __forceinline__ WideRows(const StepArgs& args, const ItemView& view,
                                      const SharedLayout<Config>& shared)
      : args_(args),
        view_(view),
        row_scales_(shared.row_scales()),
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

  /// The lane's r-th row of 2 * kRowTiles.
  __device__ __forceinline__ int row(int r) const { return first_row_ + r * 8 + lane_ / 4; }

  __device__ __forceinline__ void cap(Logits& logits) const {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n)
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
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const std::int32_t key = slot + n * 8 + lane_ % 4 * 2 + j;
        const bool there = key < view_.range.slot_end;
        const std::int32_t position = there ? view_.position_of_slot(args_, key) : 0;
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          if (!there || position < seen[r].first || position > seen[r].last)
            logits[r / 2][n][r % 2 * 2 + j] = -INFINITY;
      }
  }

  /// Rounds them for the second product: half as many registers.
  __device__ __forceinline__ void pack_probabilities(const Logits& logits) {
#pragma unroll
    for (int k = 0; k < kKeyTiles / 2; ++k)
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          packed_[k][m][i] = pack<kFormat>(logits[m][2 * k + i / 2][i % 2 * 2],
                                           logits[m][2 * k + i / 2][i % 2 * 2 + 1]);
  }

  /// Moves the references up to the largest logits that the rows have seen, where those pass them
  /// by far or rows have none.
  __device__ __forceinline__ void raise_references(const Logits& logits) {
    float top[kRows];
    bool grows = false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      top[r] = largest(logits, r) * logit_unit(r);
      grows = grows || passes<kFormat>(reference_[r], top[r]);
    }
    if (!__any_sync(~0U, grows)) return;
    fresh_ = false;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float now = raised<kFormat>(reference_[r], largest_of_row(top[r]));
      sum_[r] *= move_reference(r, now);
      fresh_ = fresh_ || now == -INFINITY;
    }
    fresh_ = __any_sync(~0U, fresh_);
  }

  /// The same for `rising` rows alone, each by itself.
  __device__ __forceinline__ void raise_rows(const Logits& logits, std::uint32_t rising) {
    if (!__any_sync(~0U, rising != 0)) return;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float top = largest_of_row(largest(logits, r) * logit_unit(r));
      const bool rises = (rising >> r & 1U) != 0 && passes<kFormat>(reference_[r], top);
      sum_[r] *= move_reference(r, rises ? raised<kFormat>(reference_[r], top) : reference_[r]);
    }
  }

  /// From product to logit in base 2, where they are not capped.
  __device__ __forceinline__ float logit_unit(int r) const {
    return args_.softcap == 0.0F ? row_scale(r) : 1.0F;
  }

  /// Over the lanes that share a row.
  __device__ __forceinline__ static float largest_of_row(float top) {
    top = fmaxf(top, __shfl_xor_sync(~0U, top, 1));
    return fmaxf(top, __shfl_xor_sync(~0U, top, 2));
  }

  /// Counts a row's sums of values from reference `now` on. Returns their factor.
  __device__ __forceinline__ float move_reference(int r, float now) {
    const float factor = rescale_factor(reference_[r], now);
    reference_[r] = now;
#pragma unroll
    for (int n = 0; n < kDimTiles; ++n) {
      out_[r / 2][n][r % 2 * 2] *= factor;
      out_[r / 2][n][r % 2 * 2 + 1] *= factor;
    }
    return factor;
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
  const int lane_;
  const int first_row_;  // of this warp, in the item
  ValueUnit unit_;       // i8
  bool fresh_;           // a row of the warp has no reference yet
  float scale_ = 1.0F;   // where rows have none of their own
  float reference_[kRows];
  float sum_[kRows];
  std::uint32_t packed_[kKeyTiles / 2][kRowTiles][4];
  float out_[kRowTiles][kDimTiles][4];
};

}  // namespace headwise::cuda::sm80
