#include "cuda/append/append_kv.h"

#include <algorithm>

#include "core/check.h"
#include "cuda/append/append_launch.h"
#include "cuda/runtime/check.h"

namespace headwise::cuda {
namespace {

constexpr std::int64_t kChunkBytes = 16;       ///< of the cache
constexpr std::int64_t kMostBlocks = 1 << 14;  ///< of one request; they loop over its tokens

/// Strides of dimensions of length 1 are nothing to multiply with.
std::int64_t stride(const TensorView& view, int dimension) {
  return view.sizes[dimension] > 1 ? view.strides[dimension] : 0;
}

AppendTensor tensor_of(const TensorView& rows, const MutableTensorView& cache,
                       const MutableTensorView& scales, const float* fp8_scales, KvLayout layout) {
  const bool paged = layout == KvLayout::paged;
  const int token = paged ? 2 : 0;
  AppendTensor tensor{.rows = rows.data,
                      .row_token = stride(rows, 0),
                      .row_head = stride(rows, 1),
                      .cache = cache.data,
                      .page = paged ? stride(cache, 0) : 0,
                      .head = stride(cache, 1),
                      .token = stride(cache, token),
                      .fp8_scales = cache.dtype == DType::f8e4m3 ? fp8_scales : nullptr,
                      .dim = static_cast<std::int32_t>(rows.sizes[2])};
  if (!scales) return tensor;
  tensor.token_scales = static_cast<float*>(scales.data);
  tensor.scale_page = paged ? stride(scales, 0) : 0;
  tensor.scale_head = stride(scales, 1);
  tensor.scale_token = stride(scales, token);
  return tensor;
}

bool aligned(const void* data, std::int64_t element, std::int64_t bytes,
             std::initializer_list<std::int64_t> strides) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
         std::all_of(strides.begin(), strides.end(),
                     [&](std::int64_t stride) { return stride * element % bytes == 0; });
}

/// Whether rows come and go in pieces of 16 bytes of the cache.
bool in_chunks(const AppendTensor& tensor, DType rows, DType cache) {
  const std::int64_t numbers = kChunkBytes / size_of(cache);
  const std::int64_t loaded = std::min(kChunkBytes, numbers * size_of(rows));
  return tensor.dim % numbers == 0 &&
         aligned(tensor.rows, size_of(rows), loaded, {tensor.row_token, tensor.row_head}) &&
         aligned(tensor.cache, size_of(cache), kChunkBytes,
                 {tensor.page, tensor.head, tensor.token});
}

AppendLaunch launch_of(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args) {
  const MutableKvView& cache = args.cache;
  const bool paged = step.layout == KvLayout::paged;
  AppendLaunch launch;
  launch.k = tensor_of(args.k, cache.k, cache.k_scale, args.k_scale, step.layout);
  launch.has_v = static_cast<bool>(args.v);
  if (launch.has_v) launch.v = tensor_of(args.v, cache.v, cache.v_scale, args.v_scale, step.layout);
  launch.chunks = in_chunks(launch.k, args.k.dtype, shape.kv_type) &&
                  (!launch.has_v || in_chunks(launch.v, args.v.dtype, shape.kv_type));
  launch.scale_per_head = shape.fp8_scale == ScaleGranularity::kv_head;
  launch.kv_heads = shape.kv_heads;
  launch.block_tokens =
      std::max(1, append_rows_of_block(shape.kv_type, launch.chunks) / shape.kv_heads);
  launch.tokens = args.k.sizes[0];
  if (paged) {
    const BlockTables& tables = step.tables;
    launch.pages = tables.pages;
    launch.table_request = tables.request_stride;
    launch.table_head = tables.heads > 1 ? tables.head_stride : 0;
    launch.pool_pages = tables.pool_pages;
    launch.page_size = static_cast<std::uint32_t>(tables.page_size);
  }
  launch.q_lens = step.device_lengths.q_lens;
  launch.kv_lens = step.device_lengths.kv_lens;
  launch.first_rows = args.first_rows;
  if (shape.kv_type == DType::f8e4m3)
    launch.saturated = reinterpret_cast<unsigned long long*>(args.saturated);
  return launch;
}

}  // namespace

void append_on_gpu(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args) {
  check_call(cudaSetDevice(args.k.device.index), "append: choosing the device");
  AppendLaunch launch = launch_of(shape, step, args);
  const auto send = [&] {
    if (launch.requests == 0) return;
    launch_append(launch, args.k.dtype, shape.kv_type, static_cast<cudaStream_t>(args.stream));
    launch.requests = launch.blocks = 0;
  };
  std::int64_t first_row = 0;
  for (std::int64_t r = 0; r < step.requests(); first_row += step.q_lens[r++]) {
    const std::int32_t q_len = step.q_lens[r];
    if (q_len == 0) continue;
    launch.request[launch.requests++] = {
        .first_row = first_row,
        .kv_start = step.layout == KvLayout::packed ? step.kv_start[r] : 0,
        .request = static_cast<std::int32_t>(r),
        .q_len = q_len,
        .kv_len = step.kv_lens[r],
        .first_block = launch.blocks};
    const std::int64_t needed =
        (std::int64_t{q_len} + launch.block_tokens - 1) / launch.block_tokens;
    launch.blocks += static_cast<std::int32_t>(std::min(needed, kMostBlocks));
    if (launch.requests == kAppendRequests) send();
  }
  send();
}

}  // namespace headwise::cuda
