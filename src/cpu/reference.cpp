#include "cpu/reference.h"

#include <cmath>
#include <limits>

#include "attention/rows.h"
#include "core/check.h"
#include "core/thread_scope.h"
#include "cpu/append_kv.h"
#include "cpu/load_row.h"

namespace headwise {
namespace {

constexpr std::string_view kName = "reference";
constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// Working memory of one thread, in doubles.
struct Scratch {
  double* q;      // [group, head_dim_qk]
  double* k;      // [head_dim_qk]
  double* v;      // [head_dim_v]
  double* acc;    // [group, head_dim_v]
  double* logit;  // [group] of the key at hand
  double* top;    // [group] largest logit
  double* total;  // [group] sum of exp(logit - top)

  static std::int64_t size(const AttentionShape& shape) {
    const std::int64_t dims = shape.head_dim_qk + shape.head_dim_v;
    return shape.group_size() * (dims + 3) + dims;
  }

  Scratch(double* memory, const AttentionShape& shape) {
    const std::int64_t group = shape.group_size();
    q = memory;
    k = q + group * shape.head_dim_qk;
    v = k + shape.head_dim_qk;
    acc = v + shape.head_dim_v;
    logit = acc + group * shape.head_dim_v;
    top = logit + group;
    total = top + group;
  }
};

double dot(const double* a, const double* b, int count) {
  double sums[4] = {};
  int i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// K and V of one KV head, decoded a token at a time.
class Keys {
 public:
  Keys(const AttentionShape& shape, const RunArgs& args, int kv_head)
      : shape_(shape),
        view_(args.kv->view()),
        head_(kv_head),
        k_(view_.k, args.kv->layout()),
        v_(shape.v_is_k_prefix ? k_ : KvStrides(view_.v, args.kv->layout())),
        k_scale_(fp8_scale(args.k_scale, shape.kv_type, shape.fp8_scale, kv_head)),
        v_scale_(fp8_scale(shape.v_is_k_prefix ? args.k_scale : args.v_scale, shape.kv_type,
                           shape.fp8_scale, kv_head)) {}

  void load_key(const KeyRun& run, std::int64_t i, double* k) const {
    load_row(view_.k.data, shape_.kv_type, k_.offset(run, head_) + i * k_.token, shape_.head_dim_qk,
             k_scale_ * token_scale(view_.k_scale, run, i), k);
  }

  void load_value(const KeyRun& run, std::int64_t i, double* v) const {
    const TensorView& view = shape_.v_is_k_prefix ? view_.k : view_.v;
    const TensorView& scale = shape_.v_is_k_prefix ? view_.k_scale : view_.v_scale;
    load_row(view.data, shape_.kv_type, v_.offset(run, head_) + i * v_.token, shape_.head_dim_v,
             v_scale_ * token_scale(scale, run, i), v);
  }

 private:
  double token_scale(const TensorView& scale, const KeyRun& run, std::int64_t i) const {
    if (!scale) return 1.0;
    const KvStrides strides(scale, scale.rank == 3 ? KvLayout::paged : KvLayout::packed);
    return static_cast<const float*>(scale.data)[strides.offset(run, head_) + i * strides.token];
  }

  const AttentionShape& shape_;
  const KvView& view_;
  int head_;
  KvStrides k_, v_;
  double k_scale_, v_scale_;
};

class ReferencePlan final : public Plan {
 public:
  ReferencePlan(const Problem& problem, const Support& support)
      : Plan(kName, support.row, problem.shape, problem.extent),
        threads_(threads_or_all(problem.options.threads)) {
    set_workspace_bytes(threads_ * Scratch::size(shape()) *
                        static_cast<std::int64_t>(sizeof(double)));
  }

  void run(const RunArgs& args) override {
    const ThreadScope scope(threads_);
    for (const Request& request : requests_) {
#pragma omp parallel for collapse(2) schedule(dynamic)
      for (int row = 0; row < request.q_len; ++row) {
        for (int kv_head = 0; kv_head < shape().kv_heads; ++kv_head) {
          double* memory = static_cast<double*>(args.workspace);
          attend(args, request, row, kv_head,
                 Scratch(memory + omp_get_thread_num() * Scratch::size(shape()), shape()));
        }
      }
    }
  }

 private:
  void take(const StepBatch& step) override { requests_ = requests_of(step); }

  /// One new token's query heads of one group.
  void attend(const RunArgs& args, const Request& request, int row, int kv_head,
              const Scratch& s) const {
    const int group = shape().group_size();
    const std::int64_t token = request.first_row + row;
    const PositionRange seen = Mask(shape()).seen_from(request.q_start + row);
    const Keys keys(shape(), args, kv_head);
    load_queries(args, token, kv_head, s);
    for (int g = 0; g < group; ++g) {
      s.top[g] = kNothing;
      s.total[g] = 0.0;
    }
    std::fill_n(s.acc, group * shape().head_dim_v, 0.0);

    for_each_key(request, kv_head, seen, keys, s, [&](const KeyRun&, std::int64_t) {
      for (int g = 0; g < group; ++g)
        if (std::isnan(s.logit[g]) || s.logit[g] > s.top[g]) s.top[g] = s.logit[g];
    });
    for (int g = 0; shape().sinks && g < group; ++g)
      if (const double sink = args.sinks[kv_head * group + g]; sink > s.top[g]) s.top[g] = sink;
    for_each_key(request, kv_head, seen, keys, s, [&](const KeyRun& run, std::int64_t i) {
      keys.load_value(run, i, s.v);
      for (int g = 0; g < group; ++g) {
        if (s.top[g] == kNothing) continue;
        const double weight = std::exp(s.logit[g] - s.top[g]);
        s.total[g] += weight;
        double* acc = s.acc + g * shape().head_dim_v;
        for (int d = 0; d < shape().head_dim_v; ++d) acc[d] += weight * s.v[d];
      }
    });
    for (int g = 0; g < group; ++g) store(args, token, kv_head * group + g, g, s);
  }

  void load_queries(const RunArgs& args, std::int64_t token, int kv_head, const Scratch& s) const {
    const TensorView& q = step().q;
    const int group = shape().group_size();
    const double scale = fp8_scale(args.q_scale, shape().q_type, shape().fp8_scale, kv_head);
    for (int g = 0; g < group; ++g)
      load_row(args.q != nullptr ? args.q : q.data, q.dtype,
               token * q.strides[0] + (kv_head * group + g) * q.strides[1], shape().head_dim_qk,
               scale, s.q + g * shape().head_dim_qk);
  }

  /// Calls visit(run, i) for each key that is seen, its logits in s.logit.
  template <class Visit>
  void for_each_key(const Request& request, int kv_head, const PositionRange& seen,
                    const Keys& keys, const Scratch& s, Visit&& visit) const {
    const int dims = shape().head_dim_qk;
    const double scale = shape().logit_scale();
    const double cap = shape().softcap;
    for_each_key_run(step(), request, kv_head, seen, [&](const KeyRun& run) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        keys.load_key(run, i, s.k);
        for (int g = 0; g < shape().group_size(); ++g) {
          const double logit = dot(s.q + g * dims, s.k, dims) * scale;
          s.logit[g] = cap > 0.0 ? cap * std::tanh(logit / cap) : logit;
        }
        visit(run, i);
      }
    });
  }

  void store(const RunArgs& args, std::int64_t token, int head, int g, const Scratch& s) const {
    double* row = s.acc + g * shape().head_dim_v;
    double total = s.total[g];
    if (shape().sinks && s.top[g] != kNothing) total += std::exp(args.sinks[head] - s.top[g]);
    for (int d = 0; total != 0.0 && d < shape().head_dim_v; ++d) row[d] /= total;
    const MutableTensorView& out = step().out;
    store_row(row, shape().head_dim_v, args.out != nullptr ? args.out : out.data, out.dtype,
              token * out.strides[0] + head * out.strides[1]);
    store_lse(step(), args.lse, token, head,
              s.top[g] == kNothing ? kNothing : s.top[g] + std::log(total));
  }

  int threads_;
  std::vector<Request> requests_;
};

class Reference final : public Backend {
 public:
  std::string_view name() const override { return kName; }
  DeviceType device_type() const override { return DeviceType::cpu; }
  std::string_view drawback(const Machine&) const override {
    return "double precision, for checking";
  }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {16}; }

  Support explain(const Problem& problem, const Machine&) const override {
    if (problem.device.type != DeviceType::cpu)
      return Support::no("tensors are on " + to_string(problem.device));
    return Support::yes("row 0 (f64)");
  }

 private:
  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override {
    return std::make_unique<ReferencePlan>(problem, support);
  }
  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override {
    append_on_cpu(shape, step, args);
  }
};

}  // namespace

const Backend& reference_backend() {
  static const Reference backend;
  return backend;
}

}  // namespace headwise
