#include "cpu/tiled/tiled_plan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/rows.h"
#include "core/thread_scope.h"
#include "cpu/tiled/key_reader.h"
#include "cpu/tiled/work_list.h"

namespace headwise::tiled {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;
constexpr int kMostTileRows = 256;
constexpr std::int64_t kFixedSplit =
    4096;  // keys, where a token's bits must not depend on the step
constexpr std::int64_t kTileBytes = 512 * 1024;  // of q and o: half of a common second-level cache

std::int64_t padded(std::int64_t n) { return (n + 15) / 16 * 16; }

/// Sizes that follow from a shape and its kernels, in 32-bit words.
struct Sizes {
  std::int64_t q_stride, o_stride, scratch;
  int tile_rows;        // rows an item, at most; at least one token's
  std::int64_t sums;    // of one item's rows
  std::int64_t thread;  // working memory of a thread

  Sizes(const AttentionShape& shape, const TileShape& tile_shape, const TileKernels& kernels)
      : q_stride(kernels.q_stride(tile_shape)),
        o_stride(kernels.o_stride(tile_shape)),
        scratch(kernels.scratch_words(tile_shape)) {
    const std::int64_t fitting = kTileBytes / (4 * (q_stride + o_stride));
    const int rows = static_cast<int>(std::min<std::int64_t>(kMostTileRows, fitting));
    const int group = shape.group_size();
    tile_rows = std::max(1, rows / group) * group;
    sums = padded(tile_rows * o_stride) + 2 * padded(tile_rows);
    thread = scratch + padded(tile_rows * q_stride) + 2 * sums + 2 * padded(tile_rows);
  }
};

Stored stored(DType type) { return static_cast<Stored>(type); }

TileShape tile_shape_of(const AttentionShape& shape) {
  return {.head_dim_qk = shape.head_dim_qk,
          .head_dim_v = shape.head_dim_v,
          .q_type = stored(shape.q_type),
          .kv_type = stored(shape.kv_type),
          .scale_log2 = 0.0F,
          .softcap = shape.softcap,
          .cap_scale = 0.0F};
}

class TiledPlan final : public Plan {
 public:
  TiledPlan(std::string_view backend, const Problem& problem, const Support& support,
            const TileKernels& kernels)
      : Plan(backend, support.row, problem.shape, problem.extent),
        kernels_(kernels),
        tile_shape_(tile_shape_of(shape())),
        sizes_(shape(), tile_shape_, kernels),
        threads_(threads_or_all(problem.options.threads)),
        zeros_(4 * padded(std::max(shape().head_dim_qk, shape().head_dim_v))) {
    rules_ = {threads_, sizes_.tile_rows, problem.options.batch_invariant ? kFixedSplit : 0};
    const std::int64_t part_rows = rules_.most_part_rows();
    set_workspace_bytes(4 * (threads_ * sizes_.thread + part_rows * (sizes_.o_stride + 2)));
  }

  void run(const RunArgs& args) override {
    const ThreadScope scope(threads_);
    std::atomic<std::size_t> next_item{0};
    std::atomic<std::size_t> next_split{0};
#pragma omp parallel
    {
      const int thread = omp_get_thread_num();
      for (std::size_t i = next_item++; i < work_.items.size(); i = next_item++)
        attend(args, work_.items[i], thread);
#pragma omp barrier
      for (std::size_t i = next_split++; i < work_.splits.size(); i = next_split++)
        join(args, work_.splits[i]);
    }
  }

 private:
  void take(const StepBatch& step) override {
    std::vector<Request> requests = requests_of(step);
    work_ = make_work_list(shape(), step, requests, rules_);
    requests_ = std::move(requests);
  }

  /// Sums of rows: weights times values, their largest logit in base 2, and the sum of their
  /// weights.
  struct Sums {
    float* o;      // [rows, o_stride]
    float* top;    // [rows]
    float* total;  // [rows]
  };

  /// A thread's working memory.
  struct Memory {
    std::uint32_t* scratch;
    std::uint32_t* q;
    Sums sums, split_sums;
    std::int32_t *first_seen, *last_seen;
  };

  Sums sums_at(float* base) const {
    float* top = base + padded(sizes_.tile_rows * sizes_.o_stride);
    return {base, top, top + padded(sizes_.tile_rows)};
  }

  Memory memory_of(const RunArgs& args, int thread) const {
    auto* scratch = static_cast<std::uint32_t*>(args.workspace) + thread * sizes_.thread;
    std::uint32_t* q = scratch + sizes_.scratch;
    auto* sums = reinterpret_cast<float*>(q + padded(sizes_.tile_rows * sizes_.q_stride));
    auto* seen = reinterpret_cast<std::int32_t*>(sums + 2 * sizes_.sums);
    return {scratch,       q,
            sums_at(sums), sums_at(sums + sizes_.sums),
            seen,          seen + padded(sizes_.tile_rows)};
  }

  /// Partial results lie behind the threads' memory: o of all rows, then top, then total.
  Sums part_sums(const RunArgs& args, std::int64_t row) const {
    const std::int64_t rows = rules_.most_part_rows();
    auto* base = static_cast<float*>(args.workspace) + threads_ * sizes_.thread;
    float* top = base + rows * sizes_.o_stride;
    return {base + row * sizes_.o_stride, top + row, top + rows + row};
  }

  void attend(const RunArgs& args, const WorkItem& item, int thread) const {
    const Request& request = requests_[item.request];
    const Memory memory = memory_of(args, thread);
    load_queries(args, request, item, memory.q);
    set_sights(request, item, memory.first_seen, memory.last_seen);
    const Sums sums = item.part_row < 0 ? memory.sums : part_sums(args, item.part_row);
    fold_split(args, item, memory, sums, item.slot_begin, split_end(item, item.slot_begin));
    for (std::int64_t slot = split_end(item, item.slot_begin); slot < item.slot_end;) {
      const std::int64_t end = split_end(item, slot);
      fold_split(args, item, memory, memory.split_sums, slot, end);
      for (int row = 0; row < item.tokens * shape().group_size(); ++row)
        merge_row(sums, row, memory.split_sums, row);
      slot = end;
    }
    if (item.part_row < 0) store(args, request, item.kv_head, item.token, item.tokens, sums);
  }

  std::int64_t split_end(const WorkItem& item, std::int64_t slot) const {
    const std::int64_t split = rules_.fixed_split;
    return split == 0 ? item.slot_end : std::min(item.slot_end, (slot / split + 1) * split);
  }

  /// Folds slots begin ... end - 1 into `sums`, from nothing.
  void fold_split(const RunArgs& args, const WorkItem& item, const Memory& memory, const Sums& sums,
                  std::int64_t begin, std::int64_t end) const {
    const int rows = item.tokens * shape().group_size();
    std::fill_n(sums.o, rows * sizes_.o_stride, 0.0F);
    std::fill_n(sums.top, rows, kNothing);
    std::fill_n(sums.total, rows, 0.0F);
    const RowTile row_tile{.rows = rows,
                           .one_way = rules_.fixed_split > 0,
                           .first_seen = memory.first_seen,
                           .last_seen = memory.last_seen,
                           .q = memory.q,
                           .o = sums.o,
                           .top = sums.top,
                           .total = sums.total,
                           .scratch = memory.scratch};
    fold_keys(args, item, row_tile, begin, end);
  }

  /// From product to logit, q's and K's own scales included.
  double logit_scale(const RunArgs& args, int kv_head) const {
    const ScaleGranularity granularity = shape().fp8_scale;
    return static_cast<double>(shape().logit_scale()) *
           fp8_scale(args.q_scale, shape().q_type, granularity, kv_head) *
           fp8_scale(args.k_scale, shape().kv_type, granularity, kv_head);
  }

  /// The kernels multiply logits by a positive scale: its sign, or a 0, is given to the queries.
  TileShape scaled(const RunArgs& args, int kv_head) const {
    TileShape to = tile_shape_;
    const double scale = logit_scale(args, kv_head);
    const double positive = scale == 0.0 ? 1.0 : std::fabs(scale);
    const bool capped = shape().softcap > 0.0F;
    to.scale_log2 = static_cast<float>(capped ? kLog2E : positive * kLog2E);
    to.cap_scale = capped ? static_cast<float>(positive / shape().softcap) : 0.0F;
    return to;
  }

  void load_queries(const RunArgs& args, const Request& request, const WorkItem& item,
                    std::uint32_t* q) const {
    const TensorView& view = step().q;
    const auto* data = static_cast<const std::byte*>(args.q != nullptr ? args.q : view.data);
    const int group = shape().group_size();
    const double scale = logit_scale(args, item.kv_head);
    const int sign = scale < 0.0 ? -1 : scale == 0.0 ? 0 : 1;
    for (int row = 0; row < item.tokens * group; ++row) {
      const std::int64_t token = request.first_row + item.token + row / group;
      const std::int64_t head = item.kv_head * group + row % group;
      const std::int64_t offset = token * view.strides[0] + head * view.strides[1];
      kernels_.load_query(tile_shape_, data + offset * size_of(view.dtype), sign,
                          q + row * sizes_.q_stride);
    }
  }

  void set_sights(const Request& request, const WorkItem& item, std::int32_t* first,
                  std::int32_t* last) const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const int group = shape().group_size();
    for (int row = 0; row < item.tokens * group; ++row) {
      const PositionRange seen =
          Mask(shape()).seen_from(request.q_start + item.token + row / group);
      first[row] = static_cast<std::int32_t>(std::clamp<std::int64_t>(seen.first, 0, kMost));
      last[row] = static_cast<std::int32_t>(std::clamp<std::int64_t>(seen.last, -1, kMost));
    }
  }

  void fold_keys(const RunArgs& args, const WorkItem& item, const RowTile& row_tile,
                 std::int64_t begin, std::int64_t end) const {
    const Request& request = requests_[item.request];
    const TileShape tile_shape = scaled(args, item.kv_head);
    const std::int64_t first = request.q_start + item.token;
    const PositionRange seen = Mask(shape()).seen_from({first, first + item.tokens - 1});
    const KeyReader reader(shape(), step(), args.kv->view(), request, item.kv_head, seen,
                           zeros_.data());
    KeyTile tiles[2];
    int current = 0;
    bool have = false;
    for (std::int64_t slot = begin; slot < end; slot += kTileKeys) {
      KeyTile& ahead = tiles[1 - current];
      reader.read(slot, ahead);
      if (ahead.columns == 0) continue;
      if (have) kernels_.fold(tile_shape, row_tile, tiles[current], &ahead);
      have = true;
      current = 1 - current;
    }
    if (have) kernels_.fold(tile_shape, row_tile, tiles[current], nullptr);
  }

  /// Merges the parts of split rows, in order, into the first one's place, and stores them.
  void join(const RunArgs& args, const SplitRows& split) const {
    const int rows = split.tokens * shape().group_size();
    const Sums whole = part_sums(args, split.first_row);
    for (int part = 1; part < split.parts; ++part)
      for (int row = 0; row < rows; ++row)
        merge_row(whole, row, part_sums(args, split.first_row + part * rows), row);
    store(args, requests_[split.request], split.kv_head, split.token, split.tokens, whole);
  }

  /// Adds a row's sums over further keys. Sums of nothing change no bit.
  void merge_row(const Sums& whole, int row, const Sums& next, int next_row) const {
    if (next.top[next_row] == kNothing && next.total[next_row] == 0.0F) return;
    const float top = std::max(whole.top[row], next.top[next_row]);
    const float kept = weight_of(whole.top[row], top);
    const float added = weight_of(next.top[next_row], top);
    whole.total[row] = whole.total[row] * kept + next.total[next_row] * added;
    float* o = whole.o + row * sizes_.o_stride;
    const float* next_o = next.o + next_row * sizes_.o_stride;
    for (std::int64_t i = 0; i < sizes_.o_stride; ++i) o[i] = o[i] * kept + next_o[i] * added;
    whole.top[row] = top;
  }

  /// 2^(logit - top); 1 where nothing was seen at all, so that a NaN in the sums stays.
  static float weight_of(float logit, float top) {
    return logit == top ? 1.0F : std::exp2(logit - top);
  }

  void store(const RunArgs& args, const Request& request, int kv_head, int token, int tokens,
             const Sums& sums) const {
    const MutableTensorView& out = step().out;
    auto* data = static_cast<std::byte*>(args.out != nullptr ? args.out : out.data);
    const int group = shape().group_size();
    const float* v_scales = shape().v_is_k_prefix ? args.k_scale : args.v_scale;
    const float v_scale = fp8_scale(v_scales, shape().kv_type, shape().fp8_scale, kv_head);
    for (int row = 0; row < tokens * group; ++row) {
      const int head = kv_head * group + row % group;
      const std::int64_t at = request.first_row + token + row / group;
      double top = sums.top[row];
      double total = sums.total[row];
      double factor = 1.0;
      if (const double sink = shape().sinks ? args.sinks[head] * kLog2E : kNothing;
          sink > kNothing) {
        const double higher = std::max(top, sink);
        factor = std::exp2(top - higher);
        total = total * factor + std::exp2(sink - higher);
        top = higher;
      }
      const std::int64_t offset = at * out.strides[0] + head * out.strides[1];
      kernels_.store_output(tile_shape_, sums.o + row * sizes_.o_stride,
                            static_cast<float>(total == 0.0 ? 0.0 : factor * v_scale / total),
                            stored(out.dtype), data + offset * size_of(out.dtype));
      store_lse(step(), args.lse, at, head, static_cast<float>((top + std::log2(total)) * kLn2));
    }
  }

  const TileKernels& kernels_;
  TileShape tile_shape_;
  Sizes sizes_;
  int threads_;
  CuttingRules rules_;
  std::vector<std::byte> zeros_;
  std::vector<Request> requests_;
  WorkList work_;
};

}  // namespace

std::unique_ptr<Plan> make_tiled_plan(std::string_view backend, const Problem& problem,
                                      const Support& support, const TileKernels& kernels) {
  return std::make_unique<TiledPlan>(backend, problem, support, kernels);
}

}  // namespace headwise::tiled
