#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/sm80/item_view.cuh"
#include "cuda/sm80/step_args.h"

namespace headwise::cuda::sm80 {

/// A row of O is its sums times this.
struct RowResult {
  float factor;
  float lse;  ///< natural
};

/// From a row's reference and the sum of its probabilities under it; applies the sink and V's
/// scale. A row without keys has factor 0.
__device__ inline RowResult row_result(const StepArgs& args, const ItemView& view, int head,
                                       float reference, float sum) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2 = 0.693147181F;
  const bool empty = reference == -INFINITY && sum == 0.0F;
  float v_scale = 1.0F;
  if (args.v_scale != nullptr) v_scale = args.v_scale[args.scale_per_head ? view.item.kv_head : 0];
  if (args.sinks == nullptr)
    return {empty ? 0.0F : v_scale / sum, empty ? -INFINITY : (reference + log2f(sum)) * kLn2};
  const float sink = args.sinks[head];
  if (empty) return {0.0F, sink};
  const float top = fmaxf(reference, sink * kLog2E);
  const float own = ptx::exp2(reference - top);
  const float total = sum * own + ptx::exp2(sink * kLog2E - top);
  return {own * v_scale / total, (top + log2f(total)) * kLn2};
}

__device__ __forceinline__ void store_lse(const StepArgs& args, const ItemView& view, int row,
                                          float lse) {
  if (args.lse == nullptr) return;
  const std::int64_t token = view.item.first_token + view.token_of(args, row);
  args.lse[token * args.lse_strides.token + view.head_of(args, row) * args.lse_strides.head] = lse;
}

/// Elements from out's first one to a row.
__device__ __forceinline__ std::int64_t out_offset(const StepArgs& args, const ItemView& view,
                                                   int row) {
  const std::int64_t token = view.item.first_token + view.token_of(args, row);
  return token * args.out_strides.token + view.head_of(args, row) * args.out_strides.head;
}

__device__ __forceinline__ void store_one(const StepArgs& args, std::int64_t at, float value) {
  if (args.out_type == OutType::f32)
    static_cast<float*>(args.out)[at] = value;
  else
    static_cast<std::uint16_t*>(args.out)[at] = static_cast<std::uint16_t>(
        args.out_type == OutType::bf16 ? ptx::pack_bf16(value, 0.0F) : ptx::pack_f16(value, 0.0F));
}

/// Stores columns `dim` and dim + 1 of a row, as far as there are.
__device__ __forceinline__ void store_pair(const StepArgs& args, std::int64_t row_offset, int dim,
                                           float first, float second) {
  const std::int64_t at = row_offset + dim;
  if (dim + 1 < args.dim_v && args.out_pairs) {
    if (args.out_type == OutType::f32)
      *reinterpret_cast<float2*>(static_cast<float*>(args.out) + at) = make_float2(first, second);
    else
      *reinterpret_cast<std::uint32_t*>(static_cast<std::uint16_t*>(args.out) + at) =
          args.out_type == OutType::bf16 ? ptx::pack_bf16(first, second)
                                         : ptx::pack_f16(first, second);
    return;
  }
  if (dim < args.dim_v) store_one(args, at, first);
  if (dim + 1 < args.dim_v) store_one(args, at + 1, second);
}

/// Where a row's columns go: to out, times a factor, or as a part's sums.
struct RowWriter {
  float* part_sums;  ///< null: the row is done
  std::int64_t out;  ///< elements from out's first one
  float factor;

  __device__ __forceinline__ RowWriter(const StepArgs& args, const ItemView& view, int row,
                                       float row_factor)
      : part_sums(nullptr), out(0), factor(row_factor) {
    if (view.item.part_row < 0)
      out = out_offset(args, view, row);
    else
      part_sums = args.part_sums + static_cast<std::int64_t>(view.item.part_row + row) * args.dim_v;
  }

  __device__ __forceinline__ void store_one(const StepArgs& args, int dim, float value) const {
    sm80::store_one(args, out + dim, value * factor);
  }

  /// Columns `dim` and dim + 1.
  __device__ __forceinline__ void store(const StepArgs& args, int dim, float first,
                                        float second) const {
    if (part_sums == nullptr) return store_pair(args, out, dim, first * factor, second * factor);
    if (dim < args.dim_v) __stcg(part_sums + dim, first);
    if (dim + 1 < args.dim_v) __stcg(part_sums + dim + 1, second);
  }
};

/// Writes a row's statistics: of a part, or the LSE. Returns what its sums are to be multiplied by.
__device__ inline float finish_row(const StepArgs& args, const ItemView& view, int row,
                                   float reference, float sum, bool writes) {
  if (view.item.part_row >= 0) {
    if (writes) __stcg(args.part_stats + view.item.part_row + row, make_float2(reference, sum));
    return 1.0F;
  }
  const RowResult result = row_result(args, view, view.head_of(args, row), reference, sum);
  if (writes) store_lse(args, view, row, result.lse);
  return result.factor;
}

}  // namespace headwise::cuda::sm80
