#include "cuda/runtime/check.h"
#include "cuda/standard/kernels.h"
#include "cuda/standard/numbers.cuh"

namespace headwise::cuda::standard {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;

/// A warp a row.
template <class Out>
__global__ void __launch_bounds__(kThreads) store_rows(const Store args) {
  const int rows = args.block.rows();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int index = static_cast<int>(blockIdx.x) * (kThreads / kWarp) + warp;  // among all heads'
  if (index >= rows * args.block.kv_heads) return;
  const int kv_head = index / rows;
  const int row = index % rows;
  if (args.block.token_of(row) >= args.block.lengths.rows()) return;
  const float weight = args.weights[index];
  const float scale = args.v_fp8.of(kv_head);
  const float* o = args.o + std::int64_t{index} * args.o_dim;
  Out* out = static_cast<Out*>(args.out) + args.out_strides.offset(args.block, kv_head, row);
  for (int d = static_cast<int>(threadIdx.x % kWarp); d < args.dim; d += kWarp)
    out[d] = from_float<Out>(weight == kSeesNoKey ? 0.0F : o[d] * weight * scale);
}

}  // namespace

void store(const Store& args, cudaStream_t stream) {
  constexpr int kRows = kThreads / kWarp;
  const int blocks = (args.block.rows() * args.block.kv_heads + kRows - 1) / kRows;
  with_product_type(args.out_type, [&]<class Out>(NumberType<Out>) {
    store_rows<Out><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(args);
  });
  check_launch("cuda-standard: storing rows");
}

}  // namespace headwise::cuda::standard
