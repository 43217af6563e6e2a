#include "cpu/standard_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "attention/rows.h"
#include "core/thread_scope.h"
#include "cpu/load_row.h"
#include "cpu/matrix_product.h"
#include "cpu/softmax_row.h"

namespace headwise {

StandardWorkspace::StandardWorkspace(const AttentionShape& shape, DType type,
                                     const Capacity& capacity) {
  const std::int64_t element = size_of(type);
  const std::int64_t rows = std::int64_t{capacity.q_len} * shape.q_heads;
  const std::int64_t keys = std::int64_t{capacity.kv_len} + kKeyBlock;
  const std::int64_t scores = shape.q_heads * (capacity.pairs + capacity.q_len * kKeyBlock);
  const auto take = [&](std::int64_t size) {
    const std::int64_t begin = bytes;
    bytes += (size + 63) / 64 * 64;
    return begin;
  };
  q = take(rows * shape.head_dim_qk * element);
  k = take(shape.kv_heads * keys * shape.head_dim_qk * element);
  v = take(shape.kv_heads * keys * shape.head_dim_v * element);
  k_scale = take(shape.kv_heads * keys * size_of(DType::f32));
  v_scale = take(shape.kv_heads * keys * size_of(DType::f32));
  s = take(scores * size_of(DType::f32));
  p = take(scores * element);
  o = take(rows * shape.head_dim_v * size_of(DType::f32));
}

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Copies stored numbers as f32 or bf16 (exact for what is copied to bf16).
void copy_row(const void* from, DType from_type, std::int64_t offset, int count, std::byte* to,
              DType to_type) {
  if (from_type == to_type) {
    std::memcpy(to, static_cast<const std::byte*>(from) + offset * size_of(from_type),
                count * size_of(to_type));
    return;
  }
  if (to_type == DType::f32)
    return load_row(from, from_type, offset, count, 1.0F, reinterpret_cast<float*>(to));
  constexpr int kPiece = 64;
  float piece[kPiece];
  for (int i = 0; i < count; i += kPiece) {
    const int n = std::min(kPiece, count - i);
    load_row(from, from_type, offset + i, n, 1.0F, piece);
    store_row(piece, n, to, to_type, i);
  }
}

/// One request with keys: what its rows see, and its two products.
struct Work {
  Request request;
  std::int64_t first_slot = 0;             ///< column 0 of S
  std::int64_t keys = 0;                   ///< columns of S, padded; 0: no row sees a key
  std::vector<std::vector<KeyRun>> runs;   ///< [tables.heads] in memory; slots from first_slot on
  std::vector<std::vector<KeyRun>> spans;  ///< the same, joined where slots and positions go on
  std::optional<MatrixProduct> scores, values;
};

std::vector<KeyRun> joined(const std::vector<KeyRun>& runs) {
  std::vector<KeyRun> spans;
  for (const KeyRun& run : runs) {
    if (!spans.empty() && spans.back().slot + spans.back().count == run.slot &&
        spans.back().position + spans.back().count == run.position)
      spans.back().count += run.count;
    else
      spans.push_back(run);
  }
  return spans;
}

class StandardPlan final : public Plan {
 public:
  StandardPlan(const Problem& problem, const Support& support, DType type)
      : Plan(kStandardName, support.row, problem.shape, problem.extent),
        type_(type),
        threads_(threads_or_all(problem.options.threads)),
        memory_(shape(), type, capacity()) {
    set_workspace_bytes(memory_.bytes);
  }

  void run(const RunArgs& args) override {
    const ThreadScope scope(threads_);
    auto* base = static_cast<std::byte*>(args.workspace);
    for (Work& work : works_) {
      if (work.keys > 0) {
        gather_queries(args, work, base);
        gather_keys(args, work, base);
        work.scores->run(base + memory_.q, base + memory_.k, floats(base, memory_.s));
      }
      softmax(args, work, base);
      if (work.keys > 0)
        work.values->run(base + memory_.p, base + memory_.v, floats(base, memory_.o));
      scatter(args, work, base);
    }
  }

 private:
  static float* floats(std::byte* base, std::int64_t offset) {
    return reinterpret_cast<float*>(base + offset);
  }

  std::int64_t rows(const Work& work) const {  ///< of one KV head's matrices
    return std::int64_t{work.request.q_len} * shape().group_size();
  }

  const std::vector<KeyRun>& of_head(const std::vector<std::vector<KeyRun>>& lists,
                                     int kv_head) const {
    return lists[lists.size() > 1 ? kv_head : 0];
  }

  void take(const StepBatch& step) override {
    const ThreadScope scope(threads_);
    std::vector<Work> works;
    for (const Request& request : requests_of(step))
      if (request.q_len > 0) works.push_back(lay_out(step, request));
    works_ = std::move(works);
  }

  Work lay_out(const StepBatch& step, const Request& request) const {
    Work work{.request = request};
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = 0;
    for (int head = 0; head < (step.layout == KvLayout::paged ? step.tables.heads : 1); ++head) {
      std::vector<KeyRun>& runs = work.runs.emplace_back();
      for_each_key_run(step, request, head, Mask(shape()).seen_from(request.rows()),
                       [&](const KeyRun& run) {
                         runs.push_back(run);
                         first = std::min(first, run.slot);
                         end = std::max(end, run.slot + run.count);
                       });
    }
    for (std::vector<KeyRun>& runs : work.runs) {
      for (KeyRun& run : runs) run.slot -= first;
      work.spans.push_back(joined(runs));
    }
    if (end == 0) return work;
    work.first_slot = first;
    work.keys = (end - first + StandardWorkspace::kKeyBlock - 1) / StandardWorkspace::kKeyBlock *
                StandardWorkspace::kKeyBlock;
    MatrixProduct::Size size{.batch = shape().kv_heads,
                             .m = rows(work),
                             .n = work.keys,
                             .k = shape().head_dim_qk,
                             .b_transposed = true};
    work.scores.emplace(size, type_);
    size = {.batch = size.batch, .m = size.m, .n = shape().head_dim_v, .k = work.keys};
    work.values.emplace(size, type_);
    return work;
  }

  void gather_queries(const RunArgs& args, const Work& work, std::byte* base) const {
    const TensorView& q = step().q;
    const void* data = args.q != nullptr ? args.q : q.data;
    const int group = shape().group_size();
    const std::int64_t row_bytes = shape().head_dim_qk * size_of(type_);
#pragma omp parallel for collapse(2)
    for (int kv_head = 0; kv_head < shape().kv_heads; ++kv_head)
      for (std::int64_t row = 0; row < rows(work); ++row)
        copy_row(data, q.dtype,
                 (work.request.first_row + row / group) * q.strides[0] +
                     (kv_head * group + row % group) * q.strides[1],
                 shape().head_dim_qk, base + memory_.q + (kv_head * rows(work) + row) * row_bytes,
                 type_);
  }

  /// Copies the keys and values that are seen to their columns, zeros to the others.
  void gather_keys(const RunArgs& args, const Work& work, std::byte* base) const {
    const KvView& kv = args.kv->view();
    const bool prefix = shape().v_is_k_prefix;
    gather(kv.k, args.kv->layout(), work, shape().head_dim_qk, base + memory_.k);
    gather(prefix ? kv.k : kv.v, args.kv->layout(), work, shape().head_dim_v, base + memory_.v);
    if (shape().kv_type != DType::i8) return;
    gather_scales(kv.k_scale, args.kv->layout(), work, floats(base, memory_.k_scale));
    gather_scales(prefix ? kv.k_scale : kv.v_scale, args.kv->layout(), work,
                  floats(base, memory_.v_scale));
  }

  void gather(const TensorView& view, KvLayout layout, const Work& work, int head_dim,
              std::byte* to) const {
    const KvStrides strides(view, layout);
    const std::int64_t row_bytes = head_dim * size_of(type_);
#pragma omp parallel for collapse(2)
    for (int kv_head = 0; kv_head < shape().kv_heads; ++kv_head) {
      for (int part = 0; part < threads_; ++part) {
        const std::vector<KeyRun>& runs = of_head(work.runs, kv_head);
        std::byte* head = to + kv_head * work.keys * row_bytes;
        const auto count = static_cast<std::int64_t>(runs.size());
        for (std::int64_t j = count * part / threads_; j < count * (part + 1) / threads_; ++j) {
          const std::int64_t gap = j > 0 ? runs[j - 1].slot + runs[j - 1].count : 0;
          std::memset(head + gap * row_bytes, 0, (runs[j].slot - gap) * row_bytes);
          for (std::int64_t i = 0; i < runs[j].count; ++i)
            copy_row(view.data, view.dtype, strides.offset(runs[j], kv_head) + i * strides.token,
                     head_dim, head + (runs[j].slot + i) * row_bytes, type_);
        }
        if (part > 0) continue;
        const std::int64_t end = count > 0 ? runs.back().slot + runs.back().count : 0;
        std::memset(head + end * row_bytes, 0, (work.keys - end) * row_bytes);
      }
    }
  }

  void gather_scales(const TensorView& view, KvLayout layout, const Work& work, float* to) const {
    const KvStrides strides(view, layout);
    const auto* scales = static_cast<const float*>(view.data);
#pragma omp parallel for
    for (int kv_head = 0; kv_head < shape().kv_heads; ++kv_head)
      for (const KeyRun& run : of_head(work.runs, kv_head))
        for (std::int64_t i = 0; i < run.count; ++i)
          to[kv_head * work.keys + run.slot + i] =
              scales[strides.offset(run, kv_head) + i * strides.token];
  }

  /// Turns S into P row by row, and writes the LSE.
  void softmax(const RunArgs& args, const Work& work, std::byte* base) const {
    const int group = shape().group_size();
    const bool scaled = shape().kv_type == DType::i8;
#pragma omp parallel for collapse(2)
    for (int kv_head = 0; kv_head < shape().kv_heads; ++kv_head) {
      for (std::int64_t row = 0; row < rows(work); ++row) {
        const int head = kv_head * group + static_cast<int>(row % group);
        const std::int64_t place = (kv_head * rows(work) + row) * work.keys;
        const float* k_scale = floats(base, memory_.k_scale) + kv_head * work.keys;
        const float* v_scale = floats(base, memory_.v_scale) + kv_head * work.keys;
        const SoftmaxRow softmax_row{.s = floats(base, memory_.s) + place,
                                     .p = base + memory_.p + place * size_of(type_),
                                     .p_type = type_,
                                     .keys = work.keys,
                                     .scale = logit_scale(args, kv_head),
                                     .softcap = shape().softcap,
                                     .sink = shape().sinks ? args.sinks[head] : kNothing,
                                     .k_scale = scaled ? k_scale : nullptr,
                                     .v_scale = scaled ? v_scale : nullptr};
        const PositionRange seen = Mask(shape()).seen_from(work.request.q_start + row / group);
        store_lse(step(), args.lse, work.request.first_row + row / group, head,
                  softmax_row.run(of_head(work.spans, kv_head), seen));
      }
    }
  }

  float logit_scale(const RunArgs& args, int kv_head) const {
    const ScaleGranularity granularity = shape().fp8_scale;
    return shape().logit_scale() * fp8_scale(args.q_scale, shape().q_type, granularity, kv_head) *
           fp8_scale(args.k_scale, shape().kv_type, granularity, kv_head);
  }

  void scatter(const RunArgs& args, const Work& work, std::byte* base) const {
    const MutableTensorView& out = step().out;
    void* data = args.out != nullptr ? args.out : out.data;
    const int group = shape().group_size();
    const int head_dim = shape().head_dim_v;
    const float* v_scales = shape().v_is_k_prefix ? args.k_scale : args.v_scale;
#pragma omp parallel for collapse(2)
    for (int kv_head = 0; kv_head < shape().kv_heads; ++kv_head) {
      for (std::int64_t row = 0; row < rows(work); ++row) {
        float* values = floats(base, memory_.o) + (kv_head * rows(work) + row) * head_dim;
        if (work.keys == 0) std::fill_n(values, head_dim, 0.0F);
        const float scale = fp8_scale(v_scales, shape().kv_type, shape().fp8_scale, kv_head);
        for (int d = 0; scale != 1.0F && d < head_dim; ++d) values[d] *= scale;
        store_row(values, head_dim, data, out.dtype,
                  (work.request.first_row + row / group) * out.strides[0] +
                      (kv_head * group + row % group) * out.strides[1]);
      }
    }
  }

  DType type_;
  int threads_;
  StandardWorkspace memory_;
  std::vector<Work> works_;
};

}  // namespace

std::unique_ptr<Plan> make_standard_plan(const Problem& problem, const Support& support,
                                         DType type) {
  return std::make_unique<StandardPlan>(problem, support, type);
}

}  // namespace headwise
