#include "cuda/sm90/sm90_backend.h"

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "cuda/append/append_kv.h"
#include "cuda/problem_checks.h"
#include "cuda/sm90/kernel_row.h"
#include "cuda/sm90/mapped_keys.h"
#include "cuda/sm90/sm90_plan.h"
#include "cuda/step/prefix_pass.h"

namespace headwise::cuda {
namespace {

/// How the products of a pair of types run; nothing: not at all.
std::optional<KvFormat> format_of(DType q, DType kv) {
  if (q != DType::bf16 && q != DType::f16) return {};
  if (kv == DType::f8e4m3) return KvFormat::f8;
  if (kv == DType::i8) return KvFormat::i8;
  if (q != kv) return {};
  return q == DType::bf16 ? KvFormat::bf16 : KvFormat::f16;
}

/// The first row whose tiles hold the head dimensions and so many query rows, or else the one with
/// most rows an item, by index; -1: none. With batch_invariant those for it alone.
int nearest_row(KvFormat format, const Problem& problem, int wanted) {
  const auto rows = sm90::kernel_rows();
  const bool invariant = problem.options.batch_invariant;
  int most = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].format != format || rows[i].invariant != invariant ||
        problem.shape.head_dim_qk > rows[i].dim_qk || problem.shape.head_dim_v > rows[i].dim_v ||
        rows[i].functions.launch == nullptr)
      continue;
    if (most >= 0 && rows[i].dim_qk > rows[static_cast<std::size_t>(most)].dim_qk) break;
    most = static_cast<int>(i);
    if (wanted <= rows[i].rows) break;
  }
  return most;
}

/// That of a step's own launch: one that holds all query rows of a request, or is wide; -1: none.
int row_for(KvFormat format, const Problem& problem) {
  const int wanted = problem.options.batch_invariant ? 0 : sm90::rows_of_items(problem);
  const int row = nearest_row(format, problem, wanted);
  if (row < 0) return -1;
  const int held = sm90::kernel_rows()[static_cast<std::size_t>(row)].rows;
  return wanted <= held || held > sm90::kMostNarrowRows ? row : -1;
}

/// What no row does; empty: nothing.
std::string why_not(const Problem& problem) {
  const AttentionShape& shape = problem.shape;
  const std::int64_t element = size_of(shape.kv_type);
  if (problem.options.batch_invariant && element == 1)
    return "its kernels for 8-bit KV take few rows alone (batch_invariant)";
  if (shape.head_dim_qk * element % 16 != 0 || shape.head_dim_v * element % 16 != 0)
    return concat("rows of ", shape.head_dim_qk * element, " and ", shape.head_dim_v * element,
                  " bytes are no multiples of 16");
  if (problem.layout == KvLayout::paged && sm90::box_tokens(problem.page_size) < 8)
    return concat("pages of ", problem.page_size, " tokens are no multiples of 8");
  return {};
}

class Sm90Backend final : public Backend {
 public:
  std::string_view name() const override { return "cuda-sm90"; }
  DeviceType device_type() const override { return DeviceType::cuda; }
  std::string_view drawback(const Machine&) const override { return {}; }  // it comes first

  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {64, 16}; }

  Support explain(const Problem& problem, const Machine& machine) const override {
    constexpr int kHopper = 90;  // sm_90a: no other runs its code
    if (const std::string why = why_no_gpu(problem, machine, kHopper); !why.empty())
      return Support::no(why);
    const GpuInfo& gpu = machine.gpus[static_cast<std::size_t>(problem.device.index)];
    if (gpu.compute_capability != kHopper)
      return Support::no("its instructions are those of compute capability 9.0 alone");
    const AttentionShape& shape = problem.shape;
    const auto format = format_of(shape.q_type, shape.kv_type);
    if (!format)
      return Support::no(
          concat("no products of q ", name_of(shape.q_type), " with KV ", name_of(shape.kv_type)));
    if (const std::string why = why_not(problem); !why.empty()) return Support::no(why);
    const int index = row_for(*format, problem);
    if (index < 0)
      return Support::no(concat("no kernel for ", sm90::rows_of_items(problem),
                                " rows a KV head of head dimensions ", shape.head_dim_qk, "/",
                                shape.head_dim_v));
    const int prefix_index = nearest_row(*format, problem, sm90::kPrefixRows);
    const bool prefixes_once = reads_prefixes_once(problem);
    const int shared_bytes = prefixes_once
                                 ? std::max(at(index).shared_bytes, at(prefix_index).shared_bytes)
                                 : at(index).shared_bytes;
    if (shared_bytes > gpu.shared_memory_per_block)
      return Support::no(concat("a block needs ", shared_bytes, " bytes of shared memory; ",
                                gpu.name, " has ", gpu.shared_memory_per_block));
    const std::string prefixes = prefixes_once ? concat(", shared prefixes row ", prefix_index,
                                                        " (", at(prefix_index).name, ")")
                                               : "";
    return Support::yes(
        concat("row ", index, " (", at(index).name, ")", prefixes),
        is_8_bit(*format) ? concat("KV ", name_of(shape.kv_type), " read as it is") : "");
  }

 private:
  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override {
    const KvFormat format = *format_of(problem.shape.q_type, problem.shape.kv_type);
    return sm90::make_sm90_plan(name(), problem, support, at(row_for(format, problem)),
                                at(nearest_row(format, problem, sm90::kPrefixRows)));
  }

  static const sm90::KernelRow& at(int index) {
    return sm90::kernel_rows()[static_cast<std::size_t>(index)];
  }

  std::unique_ptr<KvBinding> make_binding(const AttentionShape& shape, const KvView& kv,
                                          KvLayout layout) const override {
    return std::make_unique<sm90::MappedKeys>(name(), shape, layout, kv);
  }

  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override {
    append_on_gpu(shape, step, args);
  }
};

}  // namespace

const Backend& sm90_backend() {
  static const Sm90Backend backend;
  return backend;
}

}  // namespace headwise::cuda
