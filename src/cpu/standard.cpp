#include "cpu/standard.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "cpu/append_kv.h"
#include "cpu/standard_plan.h"

namespace headwise {
namespace {

/// BF16 products where q and KV are exact in BF16 (8-bit codes are) and where they are faster; else
/// F32: it is to be compared with at its best.
DType product_type(const Problem& problem, const CpuInfo& cpu) {
  const auto exact = [](DType type) { return type == DType::bf16 || is_8_bit(type); };
  const bool slow = cpu.slow_bf16_dot && !cpu.amx_bf16 && problem.phase != Phase::decode;
  const bool possible = exact(problem.shape.q_type) && exact(problem.shape.kv_type);
  return cpu.avx512_bf16 && possible && !slow ? DType::bf16 : DType::f32;
}

class Standard final : public Backend {
 public:
  std::string_view name() const override { return kStandardName; }
  DeviceType device_type() const override { return DeviceType::cpu; }
  std::string_view drawback(const Machine&) const override { return "writes S and P to memory"; }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {16}; }

  Support explain(const Problem& problem, const Machine& machine) const override {
    if (problem.device.type != DeviceType::cpu)
      return Support::no("tensors are on " + to_string(problem.device));
    if (problem.options.batch_invariant)
      return Support::no("the order of its sums depends on the step (batch_invariant)");
    const DType type = product_type(problem, machine.cpu);
    const std::int64_t needed = StandardWorkspace(problem.shape, type, problem.extent).bytes;
    if (needed > machine.cpu.memory_bytes)
      return Support::no(concat("S and P need ", needed >> 20, " MiB; the machine has ",
                                machine.cpu.memory_bytes >> 20));
    const bool bf16 = type == DType::bf16;
    const DType kv_type = problem.shape.kv_type;
    return Support::yes(
        bf16 ? "row 1 (bf16)" : "row 0 (f32)",
        kv_type == type ? "" : concat("KV ", name_of(kv_type), " copied to ", name_of(type)));
  }

 private:
  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override {
    return make_standard_plan(problem, support, product_type(problem, this_machine().cpu));
  }
  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override {
    append_on_cpu(shape, step, args);
  }
};

}  // namespace

const Backend& standard_backend() {
  static const Standard backend;
  return backend;
}

}  // namespace headwise
