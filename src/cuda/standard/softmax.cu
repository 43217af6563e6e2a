#include <math_constants.h>

#include "cuda/runtime/check.h"
#include "cuda/standard/kernels.h"
#include "cuda/standard/numbers.cuh"

namespace headwise::cuda::standard {
namespace {

constexpr int kMaxThreads = 512;
constexpr int kWarp = 32;
constexpr int kPack = 4;  ///< columns of a thread at a time

/// One row of S, and who of its columns is seen. Columns are below 2^31.
struct Row {
  const float* s;
  const float* k_scale;
  const float* v_scale;
  const std::int32_t* positions;
  PositionRange seen;
  int begin, end;  ///< columns that may be seen
  float scale;
  float softcap;

  __device__ bool sees(int column) const {
    return column >= begin && column < end &&
           (positions == nullptr || seen.contains(positions[column]));
  }
  /// Rounded before anything is subtracted: where it is infinite, so is the largest logit.
  __device__ float logit(float product, int column) const {
    float value = __fmul_rn(product, scale);
    if (k_scale != nullptr) value = __fmul_rn(value, k_scale[column]);
    return softcap > 0.0F ? softcap * tanhf(value / softcap) : value;
  }
  /// Logits of a pack, some of whose columns may be seen; minus infinity for those that are not.
  __device__ Pack<float, kPack> logits(int first) const {
    auto pack = *reinterpret_cast<const Pack<float, kPack>*>(s + first);
    const bool all = positions == nullptr && first >= begin && first + kPack <= end;
    for (int i = 0; i < kPack; ++i)
      pack.number[i] = all || sees(first + i) ? logit(pack.number[i], first + i) : -CUDART_INF_F;
    return pack;
  }
};

__device__ Row row_of(const Softmax& args, std::int32_t kv_head, std::int32_t row) {
  const std::int64_t position = args.block.lengths.start() + args.block.token_of(row);
  const PositionRange seen = args.window.seen_from(position, position);
  const bool by_slot = args.positions == nullptr;
  const ColumnRange columns =
      columns_seen(seen, by_slot, args.first_slot, args.columns, args.block.lengths.keys());
  const std::int64_t scales = kv_head * args.scales_head;
  return {.s = args.s + (kv_head * args.block.rows() + row) * args.columns,
          .k_scale = args.k_scale != nullptr ? args.k_scale + scales : nullptr,
          .v_scale = args.v_scale != nullptr ? args.v_scale + scales : nullptr,
          .positions = by_slot ? nullptr : args.positions + kv_head * args.positions_head,
          .seen = seen,
          .begin = static_cast<int>(columns.begin),
          .end = static_cast<int>(columns.end),
          .scale = args.scale * args.q_fp8.of(kv_head) * args.k_fp8.of(kv_head),
          .softcap = args.softcap};
}

/// The block's values combined in a fixed order; every thread has the result.
template <class Combine>
__device__ float combine_block(float value, float nothing, Combine combine) {
  __shared__ float of_warp[kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, step));
  const int thread = static_cast<int>(threadIdx.x);
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  __syncthreads();  // the last call's values have been read
  if (thread % kWarp == 0) of_warp[thread / kWarp] = value;
  __syncthreads();
  value = thread % kWarp < warps ? of_warp[thread % kWarp] : nothing;
  for (int step = kWarp / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, step));
  return value;
}

/// NaN is left out here and comes back in the sum.
__device__ float largest_logit(const Row& row) {
  float top = -CUDART_INF_F;
  const int step = static_cast<int>(blockDim.x) * kPack;
  for (int c = row.begin / kPack * kPack + static_cast<int>(threadIdx.x) * kPack; c < row.end;
       c += step) {
    const Pack<float, kPack> logits = row.logits(c);
    for (int i = 0; i < kPack; ++i) top = fmaxf(top, logits.number[i]);
  }
  return combine_block(top, -CUDART_INF_F, [](float a, float b) { return fmaxf(a, b); });
}

/// Writes the row of P and returns the sum of its probabilities, neither rounded nor scaled.
template <class P>
__device__ float write_probabilities(const Row& row, const Softmax& args, float top, P* p) {
  float sum = 0.0F;
  const int columns = static_cast<int>(args.columns);
  const int step = static_cast<int>(blockDim.x) * kPack;
  for (int c = static_cast<int>(threadIdx.x) * kPack; c < columns; c += step) {
    float e[kPack] = {};
    if (c + kPack > row.begin && c < row.end) {
      const Pack<float, kPack> logits = row.logits(c);
      for (int i = 0; i < kPack; ++i) {
        e[i] = expf(logits.number[i] - top);
        sum += e[i];
        e[i] *= args.p_factor;
        if (row.v_scale != nullptr && e[i] > 0.0F) e[i] *= row.v_scale[c + i];
      }
    }
    Pack<P, kPack> result;
    for (int i = 0; i < kPack; ++i) result.number[i] = from_float<P>(e[i]);
    *reinterpret_cast<Pack<P, kPack>*>(p + c) = result;
  }
  return combine_block(sum, 0.0F, [](float a, float b) { return a + b; });
}

/// What a row's sum becomes: its weight and its LSE.
__device__ void finish_row(const Softmax& args, std::int32_t kv_head, std::int32_t row, float top,
                           float sum) {
  float base = top;
  float total = sum;
  float kept = 1.0F;  // exp(top - base)
  if (args.sinks != nullptr) {
    const float sink = args.sinks[args.block.head_of(kv_head, row)];
    base = sum == 0.0F ? sink : fmaxf(top, sink);
    kept = expf(top - base);
    total = sum == 0.0F ? 1.0F : sum * kept + expf(sink - base);
  }
  args.weights[kv_head * args.block.rows() + row] =
      sum == 0.0F ? kSeesNoKey : kept / (total * args.p_factor);
  if (args.lse != nullptr)
    args.lse[args.lse_strides.offset(args.block, kv_head, row)] =
        total == 0.0F ? -CUDART_INF_F : base + logf(total);
}

/// A block a row. A row that sees nothing but minus infinity counts as one that sees no key.
template <class P>
__global__ void __launch_bounds__(kMaxThreads) softmax_rows(const Softmax args) {
  const int rows = args.block.rows();
  const int kv_head = static_cast<int>(blockIdx.x) / rows;
  const int index = static_cast<int>(blockIdx.x) % rows;
  if (args.block.token_of(index) >= args.block.lengths.rows()) return;
  const Row row = row_of(args, kv_head, index);
  const float largest = largest_logit(row);
  const float top = largest == -CUDART_INF_F ? 0.0F : largest;  // then all are -inf, or NaN
  P* p = static_cast<P*>(args.p) + (kv_head * rows + index) * args.columns;
  const float sum = write_probabilities(row, args, top, p);
  if (threadIdx.x == 0) finish_row(args, kv_head, index, top, sum);
}

/// Two packs a thread, in whole warps.
int threads_for(std::int64_t columns) {
  const std::int64_t wanted = (columns / (2 * kPack) + kWarp - 1) / kWarp * kWarp;
  return static_cast<int>(wanted < kWarp ? kWarp : wanted > kMaxThreads ? kMaxThreads : wanted);
}

}  // namespace

void softmax(const Softmax& args, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(args.block.rows() * args.block.kv_heads));
  const int threads = threads_for(args.columns);
  with_product_type(args.p_type, [&]<class P>(NumberType<P>) {
    softmax_rows<P><<<grid, threads, 0, stream>>>(args);
  });
  check_launch("cuda-standard: softmax");
}

}  // namespace headwise::cuda::standard
