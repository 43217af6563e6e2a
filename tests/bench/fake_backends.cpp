#include "tests/bench/fake_backends.h"

#include <stdexcept>

#include "bench/buffer.h"
#include "core/number_formats.h"
#include "cpu/reference.h"

namespace headwise::bench {
namespace {

class FakePlan final : public Plan {
 public:
  FakePlan(std::string_view backend, const Problem& problem, const Support& support,
           FakeBackend::Fault fault, FakeGpu* gpu, std::optional<std::int64_t> repeats)
      : Plan(backend, support.row, problem.shape, problem.extent),
        fault_(fault),
        gpu_(gpu),
        repeats_(repeats) {
    if (fault == FakeBackend::Fault::no_memory) set_workspace_bytes(std::int64_t{1} << 60);
  }

  void run(const RunArgs& args) override {
    if (gpu_ != nullptr) {
      if (args.stream != gpu_->stream()) throw std::logic_error("not in the GPU's stream");
      gpu_->run(FakeBackend::kCall);
    }
    ++runs_;
    RunArgs inner = args;
    inner.workspace = workspace_.data();
    // All of it is BF16 in these tests; the last element belongs to the last head and token.
    auto* out = static_cast<std::uint16_t*>(args.out);
    const std::int64_t count = step().out.sizes[0] * step().out.sizes[1] * step().out.sizes[2];
    const std::uint16_t before = out[count - 1];
    reference_->run(inner);
    if (fault_ == FakeBackend::Fault::unwritten) out[count - 1] = before;
    if (fault_ == FakeBackend::Fault::last_row)
      for (std::int64_t i = count - shape().head_dim_v; i < count; ++i)
        out[i] = float_to_bf16(1.05F * bf16_to_float(out[i]));
  }

  std::optional<std::int64_t> repeated_rows() const override {
    return repeats_ ? std::optional(*repeats_ * runs_) : std::nullopt;
  }

 private:
  void take(const StepBatch& step) override {
    // What lies on the fake GPU is memory of the host.
    StepBatch here = step;
    here.q.device = here.out.device = here.tables.device = {};
    reference_ = reference_backend().plan(shape(), here);
    workspace_ = Buffer(reference_->workspace_bytes());
  }

  FakeBackend::Fault fault_;
  FakeGpu* gpu_;
  std::optional<std::int64_t> repeats_;
  std::int64_t runs_ = 0;
  std::unique_ptr<Plan> reference_;
  Buffer workspace_;
};

}  // namespace

Support FakeBackend::explain(const Problem& problem, const Machine&) const {
  if (problem.device.type != device_type())
    return Support::no("tensors are on " + to_string(problem.device));
  if (fault_ == Fault::refuses) return Support::no("it was told to refuse");
  return Support::yes(problem.options.batch_invariant ? "row 1 (fake invariant)" : "row 0 (fake)");
}

std::unique_ptr<Plan> FakeBackend::make_plan(const Problem& problem, const Support& support) const {
  return std::make_unique<FakePlan>(name_, problem, support, fault_, gpu_, repeats);
}

}  // namespace headwise::bench
