#pragma once

#include "headwise/backend.h"

namespace headwise::conformance {

/// What a fake GPU does wrong on purpose.
enum class Flaw { none, writes_before_out, writes_behind_out, writes_behind_workspace, breaks };

/// A backend for GPUs that a backend of the CPU stands in for, in fake_memory.h's memory: it throws
/// std::runtime_error where a plan or a run points anywhere else. Lengths on the device are taken
/// from there.
class FakeGpu final : public Backend {
 public:
  explicit FakeGpu(const Backend& cpu, Flaw flaw = Flaw::none) : cpu_(cpu), flaw_(flaw) {}

  std::string_view name() const override { return "fake-gpu"; }
  DeviceType device_type() const override { return DeviceType::cuda; }
  Support explain(const Problem& problem, const Machine& machine) const override;
  std::string_view drawback(const Machine&) const override { return "is none"; }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {16}; }

 private:
  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override;
  void append(const AttentionShape& shape, const StepBatch& step,
              const AppendArgs& args) const override;

  const Backend& cpu_;
  Flaw flaw_;
};

}  // namespace headwise::conformance
