#include "cuda/standard/cuda_standard.h"

#include <algorithm>

#include "core/check.h"
#include "cuda/append/append_kv.h"
#include "cuda/problem_checks.h"
#include "cuda/runtime/memory.h"
#include "cuda/standard/blas_lt.h"
#include "cuda/standard/matrices.h"
#include "cuda/standard/standard_plan.h"

namespace headwise::cuda {
namespace {

using standard::BlasLt;
using standard::Matrices;
using standard::ProductTypes;
using standard::WorkspaceSizes;

struct Row {
  ProductTypes types;
  const char* name;
};

constexpr Row kRows[] = {
    {{DType::f32, DType::f32}, "row 0 (f32)"},
    {{DType::f16, DType::f16}, "row 1 (f16)"},
    {{DType::bf16, DType::bf16}, "row 2 (bf16)"},
    {{DType::f16, DType::f32}, "row 3 (f16 scores, f32 values)"},
    {{DType::bf16, DType::f32}, "row 4 (bf16 scores, f32 values)"},
};

const char* row_of(const ProductTypes& types) {
  return std::find_if(std::begin(kRows), std::end(kRows),
                      [&](const Row& row) { return row.types == types; })
      ->name;
}

constexpr std::int64_t kMaxKeys = std::int64_t{1} << 30;  ///< cuBLASLt counts in 32 bits

class CudaStandard final : public Backend {
 public:
  std::string_view name() const override { return standard::kName; }
  DeviceType device_type() const override { return DeviceType::cuda; }
  std::string_view drawback(const Machine&) const override {
    return "writes S and P to device memory";
  }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {64}; }

  Support explain(const Problem& problem, const Machine& machine) const override {
    if (const std::string why = why_no_gpu(problem, machine); !why.empty()) return Support::no(why);
    if (problem.options.batch_invariant)
      return Support::no("the order of its sums depends on the step (batch_invariant)");
    if (problem.extent.kv_len > kMaxKeys)
      return Support::no(concat("kv_len ", problem.extent.kv_len, " is above ", kMaxKeys));
    const Matrices matrices(problem);
    const std::int64_t least = WorkspaceSizes(matrices, problem.extent, 0).bytes();
    const GpuInfo& gpu = machine.gpus[static_cast<std::size_t>(problem.device.index)];
    if (least > gpu.memory_bytes)
      return Support::no(concat("its copies of K and V and a row of S need ", least >> 20,
                                " MiB; the GPU has ", gpu.memory_bytes >> 20));
    if (BlasLt::find() == nullptr) return Support::no(concat(BlasLt::kLibrary, " was not found"));
    return Support::yes(row_of(matrices.types), remark(problem.shape, matrices.types));
  }

 private:
  static std::string remark(const AttentionShape& shape, const ProductTypes& types) {
    if (shape.kv_type == types.scores && shape.kv_type == types.values) return {};
    const bool same = types.scores == types.values;
    return concat("KV ", name_of(shape.kv_type), " copied to ", name_of(types.scores),
                  same ? "" : concat(" and ", name_of(types.values)));
  }

  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override {
    const int device = problem.device.index;
    const std::int64_t quarter =
        this_machine().gpus[static_cast<std::size_t>(device)].memory_bytes / 4;
    return standard::make_plan(problem, support, std::min(quarter, free_bytes(device) / 2));
  }

  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override {
    append_on_gpu(shape, step, args);
  }
};

}  // namespace

const Backend& cuda_standard_backend() {
  static const CudaStandard backend;
  return backend;
}

}  // namespace headwise::cuda
