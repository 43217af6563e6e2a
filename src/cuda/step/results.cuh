#pragma once

#include <cstdint>

#include "cuda/ptx/math.cuh"
#include "cuda/step/item_view.cuh"
#include "cuda/step_args.h"

namespace headwise::cuda {

/// What sums over two sets of keys count in their merge.
struct MergeWeights {
  float first;
  float second;

  /// The same rounding wherever it is compiled.
  __device__ __forceinline__ float merged(float a, float b) const {
    return fmaf(b, second, a * first);
  }
};

/// Merges two sets' statistics, reference (base 2) and sum of probabilities, into `first`. A set
/// without keys changes no bit of the other.
__device__ __forceinline__ MergeWeights merge_stats(float2& first, float2 second) {
  if (second.x == -INFINITY && second.y == 0.0F) return {1.0F, 0.0F};
  const float top = fmaxf(first.x, second.x);
  const MergeWeights weights{first.x == top ? 1.0F : ptx::exp2(first.x - top),
                             second.x == top ? 1.0F : ptx::exp2(second.x - top)};
  first = make_float2(top, weights.merged(first.y, second.y));
  return weights;
}

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
  const float total = fmaf(sum, own, ptx::exp2(fmaf(sink, kLog2E, -top)));
  return {own * v_scale / total, (top + log2f(total)) * kLn2};
}

__device__ __forceinline__ void store_lse(const StepArgs& args, const ItemView& view, int row,
                                          float lse) {
  if (args.lse == nullptr) return;
  const std::int64_t token = view.item.first_token + view.token_of(args, row);
  args.lse[token * args.lse_strides.token + view.head_of(args, row) * args.lse_strides.head] = lse;
}

/// Where a row of O goes: to out, or to the sums of a part.
struct RowTarget {
  char* to;      ///< the row's first number, f32 for a part, else of out's type
  float factor;  ///< of its sums
};

/// Where a row of an item goes that is no part. Writes its LSE, if asked to.
__device__ inline RowTarget finish_whole_row(const StepArgs& args, const ItemView& view, int row,
                                             float reference, float sum, bool writes) {
  const int head = view.head_of(args, row);
  const RowResult result = row_result(args, view, head, reference, sum);
  if (writes) store_lse(args, view, row, result.lse);
  const std::int64_t token = view.item.first_token + view.token_of(args, row);
  const std::int64_t at = token * args.out_strides.token + head * args.out_strides.head;
  return {static_cast<char*>(args.out) + at * (args.out_type == OutType::f32 ? 4 : 2),
          result.factor};
}

/// Where a row goes. Writes its statistics, if asked to: of a part, or the LSE.
__device__ inline RowTarget finish_row(const StepArgs& args, const ItemView& view, int row,
                                       float reference, float sum, bool writes) {
  if (view.item.part_row < 0) return finish_whole_row(args, view, row, reference, sum, writes);
  const std::int64_t at = view.item.part_row + row;
  if (writes) args.part_stats[at] = make_float2(reference, sum);
  return {reinterpret_cast<char*>(args.part_sums + at * args.dim_v), 1.0F};
}

__device__ __forceinline__ void store_one(char* row, OutType type, int dim, float value) {
  if (type == OutType::f32)
    reinterpret_cast<float*>(row)[dim] = value;
  else
    reinterpret_cast<std::uint16_t*>(row)[dim] = static_cast<std::uint16_t>(
        type == OutType::bf16 ? ptx::pack_bf16(value, 0.0F) : ptx::pack_f16(value, 0.0F));
}

/// Stores columns `dim` and dim + 1 of a row, as far as there are.
__device__ __forceinline__ void store_pair(const StepArgs& args, bool part, char* row, int dim,
                                           float first, float second) {
  const OutType type = part ? OutType::f32 : args.out_type;
  const bool pairs = part ? args.dim_v % 2 == 0 : args.out_pairs;
  if (dim + 1 < args.dim_v && pairs) {
    if (type == OutType::f32)
      reinterpret_cast<float2*>(row)[dim / 2] = make_float2(first, second);
    else
      reinterpret_cast<std::uint32_t*>(row)[dim / 2] =
          type == OutType::bf16 ? ptx::pack_bf16(first, second) : ptx::pack_f16(first, second);
    return;
  }
  if (dim < args.dim_v) store_one(row, type, dim, first);
  if (dim + 1 < args.dim_v) store_one(row, type, dim + 1, second);
}

/// What write_rows() does most often: rows of kDimV 16-bit numbers, from one source. No branches,
/// so that many rows are under way together.
template <int kDimV, int kStride>
__device__ __forceinline__ void write_whole_rows(const float* rows, int count, bool bf16,
                                                 int lane) {
#pragma unroll 4
  for (int row = 0; row < count; ++row) {
    const float* own = rows + row * kStride;
    auto* to = *reinterpret_cast<std::uint32_t* const*>(own + kDimV);
    const float factor = own[kDimV + 4];
#pragma unroll
    for (int i = 0; i < kDimV / 64; ++i) {
      const float2 sums = *reinterpret_cast<const float2*>(own + 2 * (lane + 32 * i));
      const std::uint32_t as_bf16 = ptx::pack_bf16(sums.x * factor, sums.y * factor);
      const std::uint32_t as_f16 = ptx::pack_f16(sums.x * factor, sums.y * factor);
      to[lane + 32 * i] = bf16 ? as_bf16 : as_f16;
    }
  }
}

/// Rows of results in shared memory, `kStride` floats apart: kDimV sums, then their reference and
/// the sum of probabilities; kSources warps left them, `to_next` floats from one to the next.
///
/// Writes rows first_row ... first_row + count - 1 of an item, at most 32, from `rows`, where the
/// first one's lie. One warp: first a lane for each row, then all lanes for each row.
template <int kDimV, int kStride, int kSources>
__device__ __forceinline__ void write_rows(const StepArgs& args, const ItemView& view,
                                           int first_row, int count, float* rows, int to_next,
                                           int lane) {
  static_assert(kStride - kDimV >= 4 + kSources);
  if (lane < count) {
    float* own = rows + lane * kStride + kDimV;
    float top = -INFINITY;
#pragma unroll
    for (int i = 0; i < kSources; ++i) top = fmaxf(top, own[i * to_next]);
    float weight[kSources];
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < kSources; ++i) {
      weight[i] = own[i * to_next] == -INFINITY ? 1.0F : ptx::exp2(own[i * to_next] - top);
      sum += weight[i] * own[i * to_next + 1];
    }
    const RowTarget target = finish_row(args, view, first_row + lane, top, sum, true);
    *reinterpret_cast<char**>(own) = target.to;
#pragma unroll
    for (int i = 0; i < kSources; ++i) own[4 + i] = weight[i] * target.factor;
  }
  __syncwarp();
  const bool part = view.item.part_row >= 0;
  if (kSources == 1 && !part && args.out_pairs && args.dim_v == kDimV &&
      args.out_type != OutType::f32)
    return write_whole_rows<kDimV, kStride>(rows, count, args.out_type == OutType::bf16, lane);
#pragma unroll 2
  for (int row = 0; row < count; ++row) {
    const float* own = rows + row * kStride;
    char* to = *reinterpret_cast<char* const*>(own + kDimV);
#pragma unroll
    for (int i = 0; i < kDimV / 64; ++i) {
      const int dim = 2 * (lane + 32 * i);
      float2 total = make_float2(0.0F, 0.0F);
#pragma unroll
      for (int j = 0; j < kSources; ++j) {
        const float2 sums = *reinterpret_cast<const float2*>(own + j * to_next + dim);
        total.x += own[kDimV + 4 + j] * sums.x;
        total.y += own[kDimV + 4 + j] * sums.y;
      }
      store_pair(args, part, to, dim, total.x, total.y);
    }
  }
}

}  // namespace headwise::cuda
