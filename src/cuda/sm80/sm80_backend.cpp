#include "cuda/sm80/sm80_backend.h"

#include <optional>

#include "core/check.h"
#include "cuda/append/append_kv.h"
#include "cuda/problem_checks.h"
#include "cuda/sm80/kernel_row.h"
#include "cuda/sm80/sm80_plan.h"
#include "cuda/step/kv_tensors.h"

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

/// The row with the smallest tiles that hold the head dimensions, by index; -1: none.
int row_for(KvFormat format, const AttentionShape& shape, bool batch_invariant) {
  const auto rows = sm80::kernel_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].format == format && shape.head_dim_qk <= rows[i].dim_qk &&
        shape.head_dim_v <= rows[i].dim_v &&
        rows[i].functions_for(batch_invariant).launch != nullptr)
      return static_cast<int>(i);
  return -1;
}

class Sm80Backend final : public Backend {
 public:
  std::string_view name() const override { return "cuda-sm80"; }
  DeviceType device_type() const override { return DeviceType::cuda; }

  std::string_view drawback(const Machine&) const override {
    return "the older generation's instructions";
  }

  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {64, 16}; }

  Support explain(const Problem& problem, const Machine& machine) const override {
    if (const std::string why = why_no_gpu(problem, machine); !why.empty()) return Support::no(why);
    const AttentionShape& shape = problem.shape;
    const auto format = format_of(shape.q_type, shape.kv_type);
    if (!format)
      return Support::no(
          concat("no products of q ", name_of(shape.q_type), " with KV ", name_of(shape.kv_type)));
    if (problem.options.batch_invariant && *format == KvFormat::i8)
      return Support::no(
          "the rounding of int8 values depends on the step's other rows (batch_invariant)");
    const int index = row_for(*format, shape, problem.options.batch_invariant);
    if (index < 0)
      return Support::no(
          concat("no kernel for head dimensions ", shape.head_dim_qk, "/", shape.head_dim_v));
    const sm80::KernelRow& row = sm80::kernel_rows()[static_cast<std::size_t>(index)];
    const GpuInfo& gpu = machine.gpus[static_cast<std::size_t>(problem.device.index)];
    if (row.shared_bytes > gpu.shared_memory_per_block)
      return Support::no(concat("a block needs ", row.shared_bytes, " bytes of shared memory; ",
                                gpu.name, " has ", gpu.shared_memory_per_block));
    return Support::yes(concat("row ", index, " (", row.name,
                               problem.options.batch_invariant ? " invariant)" : ")"),
                        remark(shape, gpu));
  }

 private:
  static std::string remark(const AttentionShape& shape, const GpuInfo& gpu) {
    std::string text =
        size_of(shape.kv_type) == 1 ? concat("KV ", name_of(shape.kv_type), " read as it is") : "";
    if (gpu.compute_capability < 90) return text;
    return text + (text.empty() ? "" : ", ") +
           concat("a kernel of an older generation than ", gpu.name);
  }

  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override {
    const auto format = format_of(problem.shape.q_type, problem.shape.kv_type);
    const int index = row_for(*format, problem.shape, problem.options.batch_invariant);
    return sm80::make_sm80_plan(name(), problem, support,
                                sm80::kernel_rows()[static_cast<std::size_t>(index)]);
  }

  std::unique_ptr<KvBinding> make_binding(const AttentionShape& shape, const KvView& kv,
                                          KvLayout layout) const override {
    return std::make_unique<KvTensors>(name(), shape, layout, kv);
  }

  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override {
    append_on_gpu(shape, step, args);
  }
};

}  // namespace

const Backend& sm80_backend() {
  static const Sm80Backend backend;
  return backend;
}

}  // namespace headwise::cuda
