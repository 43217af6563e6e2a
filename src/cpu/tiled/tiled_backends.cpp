#include "cpu/tiled/tiled_backends.h"

#include "core/check.h"
#include "cpu/append_kv.h"
#include "cpu/tiled/kernels.h"
#include "cpu/tiled/tiled_plan.h"

namespace headwise {
namespace {

/// One backend: an instruction set with its kernels for each type of products.
struct Description {
  std::string_view name;
  bool CpuInfo::*needs;  // null: every processor
  std::string_view needs_name;
  const tiled::TileKernels* f32;
  const tiled::TileKernels* bf16;  // null: bf16 is multiplied as f32
  std::string_view drawback;       // beside the ones above it
  bool dot_where_slow = false;
};

class TiledBackend final : public Backend {
 public:
  explicit TiledBackend(const Description& what) : what_(what) {}

  std::string_view name() const override { return what_.name; }
  DeviceType device_type() const override { return DeviceType::cpu; }
  std::string_view drawback(const Machine&) const override { return what_.drawback; }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override {
    return {64, 32, 16};
  }

  Support explain(const Problem& problem, const Machine& machine) const override {
    if (problem.device.type != DeviceType::cpu)
      return Support::no("tensors are on " + to_string(problem.device));
    if (what_.needs != nullptr && !(machine.cpu.*what_.needs))
      return Support::no(concat("the processor has no ", what_.needs_name));
    const bool pairs = &kernels_for(problem, machine.cpu) == what_.bf16;
    const DType kv_type = problem.shape.kv_type;
    return Support::yes(concat(pairs ? "row 1" : "row 0", " (d", problem.shape.head_dim_qk,
                               pairs ? " bf16" : " f32", " kv ", name_of(kv_type),
                               problem.options.batch_invariant ? " invariant)" : ")"),
                        is_8_bit(kv_type) ? concat("KV ", name_of(kv_type), " read as it is") : "");
  }

 private:
  /// Weights times int8 scales, rounded to BF16, err by the same share in all numbers of a row that
  /// sees one key or two, and output's own rounding then passes the bound.
  static bool few_scaled_values(const Problem& problem) {
    constexpr int kFewKeys = 64;
    return problem.shape.kv_type == DType::i8 && problem.extent.kv_len <= kFewKeys &&
           !problem.options.batch_invariant;
  }

  /// BF16 products where q and KV are exact in BF16, as 8-bit numbers are, and where they are
  /// faster: a processor's F32 may outrun its BF16 dot products.
  const tiled::TileKernels& kernels_for(const Problem& problem, const CpuInfo& cpu) const {
    const auto exact = [](DType type) { return type == DType::bf16 || is_8_bit(type); };
    const AttentionShape& shape = problem.shape;
    if (what_.bf16 == nullptr || !exact(shape.q_type) || !exact(shape.kv_type)) return *what_.f32;
    if (few_scaled_values(problem)) return *what_.f32;
    const bool dot = what_.bf16 == &tiled::kAvx512Bf16;
    return dot && cpu.slow_bf16_dot && !what_.dot_where_slow ? *what_.f32 : *what_.bf16;
  }

  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override {
    return tiled::make_tiled_plan(name(), problem, support,
                                  kernels_for(problem, this_machine().cpu));
  }
  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override {
    append_on_cpu(shape, step, args);
  }

  Description what_;
};

}  // namespace

std::vector<const Backend*> tiled_backends() {
  using namespace tiled;
  static const TiledBackend backends[] = {
      TiledBackend({"cpu-amx", &CpuInfo::amx_bf16, "AMX with BF16", &kAvx512VbmiF32, &kAmxBf16,
                    "the newest instructions"}),
      TiledBackend({"cpu-avx512bf16", &CpuInfo::avx512_bf16, "AVX-512-BF16", &kAvx512VbmiF32,
                    &kAvx512Bf16, "no matrix tiles"}),
      TiledBackend(
          {"cpu-avx512", &CpuInfo::avx512, "AVX-512", &kAvx512F32, nullptr, "no BF16 products"}),
      TiledBackend({"cpu-avx2", &CpuInfo::avx2, "AVX2 with FMA and F16C", &kAvx2F32, nullptr,
                    "half as wide as AVX-512"}),
      TiledBackend({"cpu-portable", nullptr, "", &kPortableF32, nullptr, "plain C++"})};
  std::vector<const Backend*> list;
  for (const TiledBackend& backend : backends) list.push_back(&backend);
  return list;
}

const Backend& avx512bf16_with_dot_products() {
  static const TiledBackend backend({"cpu-avx512bf16-dot", &CpuInfo::avx512_bf16, "AVX-512-BF16",
                                     &tiled::kAvx512VbmiF32, &tiled::kAvx512Bf16, "for tests",
                                     true});
  return backend;
}

}  // namespace headwise
