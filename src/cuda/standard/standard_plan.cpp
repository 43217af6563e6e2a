#include "cuda/standard/standard_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "attention/key_runs.h"
#include "attention/rows.h"
#include "cuda/runtime/check.h"
#include "cuda/standard/kernels.h"
#include "cuda/standard/matrices.h"
#include "cuda/standard/product.h"

namespace headwise::cuda::standard {
namespace {

/// F16 probabilities are scaled so that those down to 2^-29 stay normal numbers.
constexpr float kF16Factor = 0x1p15F;

using SharedProduct = std::shared_ptr<const Product>;

/// A chunk and its two products; none where its rows see no key.
struct PlannedChunk {
  Chunk chunk;
  SharedProduct scores, values;
};

/// A request with new tokens.
struct Work {
  Request request;
  std::int64_t first_slot = 0;
  std::int64_t columns = 0;
  std::vector<PlannedChunk> chunks;
};

/// Whether all rows of a view begin at multiples of 8 elements and have whole ones. Strides of
/// dimensions of length 1 mean nothing.
bool is_aligned(const TensorView& view, const void* data, int dim) {
  bool aligned = dim % 8 == 0 && reinterpret_cast<std::uintptr_t>(data) %
                                         static_cast<std::uintptr_t>(
                                             std::min<std::int64_t>(8 * size_of(view.dtype), 16)) ==
                                     0;
  for (int i = 0; i + 1 < view.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    aligned = aligned && (view.sizes[at] == 1 || view.strides[at] % 8 == 0);
  }
  return aligned;
}

KeyStrides strides_of(const TensorView& view, KvLayout layout) {
  const KvStrides strides(view, layout);
  return {strides.page, strides.head, strides.token};
}

TokenHeads token_heads(const TensorView& view) { return {view.strides[0], view.strides[1]}; }

class StandardPlan final : public Plan {
 public:
  StandardPlan(const Problem& problem, const Support& support, std::int64_t budget)
      : Plan(kName, support.row, problem.shape, problem.extent),
        blas_(*BlasLt::find()),
        device_(problem.device.index),
        matrices_(problem),
        sizes_(matrices_, problem.extent, budget) {
    set_workspace_bytes(sizes_.bytes());
  }

  void run(const RunArgs& args) override {
    check_call(cudaSetDevice(step().q.device.index), "cuda-standard: choosing the device");
    for (const Work& work : works_) {
      if (work.columns > 0) gather_keys(args, work);
      for (const PlannedChunk& chunk : work.chunks) attend(args, work, chunk);
    }
  }

 private:
  // The schedule.

  void take(const StepBatch& step) override {
    check_call(cudaSetDevice(step.q.device.index), "cuda-standard: choosing the device");
    constexpr std::size_t kMaxProducts = 1024;
    if (products_.size() > kMaxProducts) products_.clear();
    std::vector<Work> works;
    for (const Request& request : requests_of(step))
      if (request.q_len > 0) works.push_back(lay_out(step, request));
    works_ = std::move(works);
  }

  Work lay_out(const StepBatch& step, const Request& request) {
    const bool slots_known = matrices_.position_rows == 0 && !lengths_of(step, request).on_device();
    const RequestChunks chunks =
        chunks_of(matrices_, shape(), {request.q_len, request.kv_len, request.q_start, slots_known},
                  sizes_.rows);
    Work work{.request = request, .first_slot = chunks.first_slot, .columns = chunks.columns};
    for (const Chunk& chunk : chunks.chunks) {
      work.chunks.push_back({.chunk = chunk});
      if (chunk.columns == 0) continue;
      work.chunks.back().scores = product(scores_size(chunk, chunks.columns));
      work.chunks.back().values = product(values_size(chunk, chunks.columns));
    }
    return work;
  }

  ProductSize scores_size(const Chunk& chunk, std::int64_t all_columns) const {
    const std::int64_t rows = chunk.tokens * matrices_.group;
    return {.type = matrices_.types.scores,
            .b_transposed = true,
            .batch = matrices_.kv_heads,
            .m = rows,
            .n = chunk.columns,
            .k = matrices_.dim_qk,
            .a_row = matrices_.dim_qk,
            .b_row = matrices_.dim_qk,
            .c_row = chunk.columns,
            .a_batch = rows * matrices_.dim_qk,
            .b_batch = all_columns * matrices_.dim_qk,
            .c_batch = rows * chunk.columns};
  }

  ProductSize values_size(const Chunk& chunk, std::int64_t all_columns) const {
    const std::int64_t rows = chunk.tokens * matrices_.group;
    return {.type = matrices_.types.values,
            .batch = matrices_.kv_heads,
            .m = rows,
            .n = matrices_.dim_v,
            .k = chunk.columns,
            .a_row = chunk.columns,
            .b_row = matrices_.v_stride(),
            .c_row = matrices_.dim_v,
            .a_batch = rows * chunk.columns,
            .b_batch = all_columns * matrices_.v_stride(),
            .c_batch = rows * matrices_.dim_v};
  }

  SharedProduct product(const ProductSize& size) {
    SharedProduct& known = products_[size];
    if (known == nullptr)
      known = std::make_shared<const Product>(blas_, device_, size, WorkspaceSizes::kProducts);
    return known;
  }

  // The run.

  /// A request's keys in the workspace.
  struct Keys {
    std::byte* base;
    KeyBuffers at;

    template <class T>
    T* piece(std::int64_t offset) const {
      return reinterpret_cast<T*>(base + offset);
    }
  };

  static std::byte* aligned(void* workspace) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace);
    constexpr std::uintptr_t kAlignment = WorkspaceSizes::kAlignment;
    return static_cast<std::byte*>(workspace) + (kAlignment - address % kAlignment) % kAlignment;
  }
  static void* product_space(const RunArgs& args) { return aligned(args.workspace); }
  Keys keys_of(const RunArgs& args, const Work& work) const {
    return {aligned(args.workspace) + WorkspaceSizes::kProducts,
            KeyBuffers(matrices_, work.columns)};
  }
  std::byte* row_space(const RunArgs& args) const {
    return aligned(args.workspace) + WorkspaceSizes::kProducts + sizes_.keys;
  }

  static Lengths lengths_of(const StepBatch& step, const Request& request) {
    const DeviceLengths& device = step.device_lengths;
    const auto of_request = [&](const std::int32_t* values) {
      return values != nullptr ? values + request.index : nullptr;
    };
    return {.q_len = request.q_len,
            .kv_len = request.kv_len,
            .q_start = request.q_start,
            .device_q_len = of_request(device.q_lens),
            .device_kv_len = of_request(device.kv_lens),
            .device_q_start = of_request(device.q_start)};
  }

  Window window() const {
    const Mask mask(shape());
    return {mask.left, mask.right};
  }

  KeyColumns columns_of(const Work& work) const {
    KeyColumns columns{.lengths = lengths_of(step(), work.request),
                       .window = window(),
                       .first_slot = work.first_slot};
    if (step().layout == KvLayout::packed) {
      columns.kv_start = step().kv_start[static_cast<std::size_t>(work.request.index)];
      return columns;
    }
    const BlockTables& tables = step().tables;
    const std::int64_t first = work.request.index * tables.request_stride;
    columns.pages = tables.pages + first;
    columns.positions = tables.positions != nullptr ? tables.positions + first : nullptr;
    columns.head_stride = tables.heads > 1 ? tables.head_stride : 0;
    columns.page_size = static_cast<std::uint32_t>(tables.page_size);
    return columns;
  }

  void gather_keys(const RunArgs& args, const Work& work) const {
    const Keys keys = keys_of(args, work);
    const KvView& kv = args.kv->view();
    KeyRows rows{.columns = columns_of(work), .count = work.columns};
    KeyRows of_k = rows;
    if (matrices_.position_rows > 0) {
      of_k.positions = keys.piece<std::int32_t>(keys.at.positions);
      of_k.positions_per_head = matrices_.position_rows > 1;
    }
    note_scales(of_k, kv.k_scale, args.kv->layout(), keys.piece<float>(keys.at.k_scale));
    gather(args, kv.k, of_k, shape().head_dim_qk, keys.piece<void>(keys.at.k),
           matrices_.types.scores, matrices_.dim_qk);

    const TensorView& v_scale = shape().v_is_k_prefix ? kv.k_scale : kv.v_scale;
    note_scales(rows, v_scale, args.kv->layout(), keys.piece<float>(keys.at.v_scale));
    if (!matrices_.v_in_k)
      gather(args, shape().v_is_k_prefix ? kv.k : kv.v, rows, shape().head_dim_v,
             keys.piece<void>(keys.at.v), matrices_.types.values, matrices_.dim_v);
  }

  void note_scales(KeyRows& rows, const TensorView& scale, KvLayout layout, float* to) const {
    if (!matrices_.token_scales) return;
    rows.scales = static_cast<const float*>(scale.data);
    rows.scale_strides = strides_of(scale, layout);
    rows.to_scales = to;
  }

  void gather(const RunArgs& args, const TensorView& view, KeyRows rows, int dim, void* to,
              DType to_type, std::int64_t to_dim) const {
    rows.strides = strides_of(view, args.kv->layout());
    copy_keys(rows,
              {.from = view.data,
               .from_type = view.dtype,
               .dim = dim,
               .aligned = is_aligned(view, view.data, dim),
               .to = to,
               .to_type = to_type,
               .to_dim = static_cast<std::int32_t>(to_dim),
               .kv_heads = shape().kv_heads,
               .rows = static_cast<std::int32_t>(rows.count)},
              static_cast<cudaStream_t>(args.stream));
  }

  RowBlock block_of(const Work& work, const Chunk& chunk) const {
    return {.lengths = lengths_of(step(), work.request),
            .first_row = work.request.first_row,
            .token = static_cast<std::int32_t>(chunk.token),
            .tokens = static_cast<std::int32_t>(chunk.tokens),
            .group = shape().group_size(),
            .kv_heads = shape().kv_heads};
  }

  void attend(const RunArgs& args, const Work& work, const PlannedChunk& planned) const {
    const auto stream = static_cast<cudaStream_t>(args.stream);
    const Chunk& chunk = planned.chunk;
    const RowBlock block = block_of(work, chunk);
    const Keys keys = keys_of(args, work);
    std::byte* base = row_space(args);
    const RowBuffers at(matrices_, chunk.tokens, chunk.columns);
    auto* s = reinterpret_cast<float*>(base + at.s);
    auto* o = reinterpret_cast<float*>(base + at.o);
    if (planned.scores != nullptr) {
      gather_queries(args, block, base + at.q);
      const std::int64_t skipped =
          chunk.column * matrices_.dim_qk * size_of(matrices_.types.scores);
      planned.scores->run(base + at.q, keys.base + keys.at.k + skipped, s, product_space(args),
                          stream);
    }
    Softmax softmax_args = softmax_of(args, work, chunk, block);
    softmax_args.s = s;
    softmax_args.p = base + at.p;
    softmax_args.weights = reinterpret_cast<float*>(base + at.weights);
    softmax(softmax_args, stream);
    if (planned.values != nullptr) {
      const std::int64_t skipped =
          chunk.column * matrices_.v_stride() * size_of(matrices_.types.values);
      planned.values->run(base + at.p, keys.base + keys.at.v + skipped, o, product_space(args),
                          stream);
    }
    store_rows(args, block, o, softmax_args.weights);
  }

  void gather_queries(const RunArgs& args, const RowBlock& block, void* to) const {
    const TensorView& q = step().q;
    const void* data = args.q != nullptr ? args.q : q.data;
    copy_queries({.block = block, .q = token_heads(q)},
                 {.from = data,
                  .from_type = q.dtype,
                  .dim = shape().head_dim_qk,
                  .aligned = is_aligned(q, data, shape().head_dim_qk),
                  .to = to,
                  .to_type = matrices_.types.scores,
                  .to_dim = static_cast<std::int32_t>(matrices_.dim_qk),
                  .kv_heads = shape().kv_heads,
                  .rows = block.rows()},
                 static_cast<cudaStream_t>(args.stream));
  }

  Fp8Scale fp8_scale(const float* values, DType type) const {
    if (type != DType::f8e4m3) return {};
    return {values, shape().fp8_scale == ScaleGranularity::kv_head};
  }

  Softmax softmax_of(const RunArgs& args, const Work& work, const Chunk& chunk,
                     const RowBlock& block) const {
    const Keys keys = keys_of(args, work);
    Softmax softmax{.block = block,
                    .window = window(),
                    .p_type = matrices_.types.values,
                    .p_factor = matrices_.types.values == DType::f16 ? kF16Factor : 1.0F,
                    .columns = chunk.columns,
                    .first_slot = work.first_slot + chunk.column,
                    .scale = shape().logit_scale(),
                    .q_fp8 = fp8_scale(args.q_scale, shape().q_type),
                    .k_fp8 = fp8_scale(args.k_scale, shape().kv_type),
                    .softcap = shape().softcap,
                    .sinks = shape().sinks ? args.sinks : nullptr};
    if (matrices_.position_rows > 0) {
      softmax.positions = keys.piece<std::int32_t>(keys.at.positions) + chunk.column;
      softmax.positions_head = matrices_.position_rows > 1 ? work.columns : 0;
    }
    if (matrices_.token_scales) {
      const std::int64_t v_scale = matrices_.v_in_k ? keys.at.k_scale : keys.at.v_scale;
      softmax.k_scale = keys.piece<float>(keys.at.k_scale) + chunk.column;
      softmax.v_scale = keys.piece<float>(v_scale) + chunk.column;
      softmax.scales_head = work.columns;
    }
    if (step().lse) {
      softmax.lse = args.lse != nullptr ? args.lse : static_cast<float*>(step().lse.data);
      softmax.lse_strides = token_heads(step().lse);
    }
    return softmax;
  }

  void store_rows(const RunArgs& args, const RowBlock& block, const float* o,
                  const float* weights) const {
    const MutableTensorView& out = step().out;
    store({.block = block,
           .o = o,
           .o_dim = static_cast<std::int32_t>(matrices_.dim_v),
           .weights = weights,
           .v_fp8 = fp8_scale(shape().v_is_k_prefix ? args.k_scale : args.v_scale, shape().kv_type),
           .out = args.out != nullptr ? args.out : out.data,
           .out_type = out.dtype,
           .out_strides = token_heads(out),
           .dim = shape().head_dim_v},
          static_cast<cudaStream_t>(args.stream));
  }

  const BlasLt& blas_;
  int device_;
  Matrices matrices_;
  WorkspaceSizes sizes_;
  std::map<ProductSize, SharedProduct> products_;
  std::vector<Work> works_;
};

}  // namespace

std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support,
                                std::int64_t budget) {
  return std::make_unique<StandardPlan>(problem, support, budget);
}

}  // namespace headwise::cuda::standard
