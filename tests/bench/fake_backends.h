#pragma once

#include <cstdint>
#include <optional>

#include "headwise/backend.h"
#include "tests/bench/fake_gpu.h"

namespace headwise::bench {

/// A backend that computes as `reference` does, and then spoils it.
class FakeBackend final : public Backend {
 public:
  enum class Fault {
    none,
    last_row,   ///< the last query head of the last new token is off by 5%
    unwritten,  ///< one element is left as it was
    refuses,    ///< explain() says no
    no_memory,  ///< its workspace is larger than any machine
  };

  /// `gpu`, if any, is where it takes tensors, kCall for each call.
  FakeBackend(const char* name, Fault fault, FakeGpu* gpu = nullptr)
      : name_(name), fault_(fault), gpu_(gpu) {}

  static constexpr double kCall = 1e-3;  // seconds

  /// That each run of a plan says to have computed twice; absent: it does not count.
  std::optional<std::int64_t> repeats{};

  std::string_view name() const override { return name_; }
  DeviceType device_type() const override {
    return gpu_ != nullptr ? DeviceType::cuda : DeviceType::cpu;
  }
  Support explain(const Problem& problem, const Machine& machine) const override;
  std::string_view drawback(const Machine&) const override { return "made for tests"; }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {8}; }

 protected:
  std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const override;

 private:
  const char* name_;
  Fault fault_;
  FakeGpu* gpu_;
};

}  // namespace headwise::bench
