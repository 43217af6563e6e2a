#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "headwise/backend.h"

namespace headwise {

/// Stands for a backend that was not built: its name stays known, so that a user who asks for it
/// learns why it cannot run.
class AbsentBackend final : public Backend {
 public:
  /// Literals; `reason` as in "this build has no CUDA".
  AbsentBackend(std::string_view name, DeviceType type, std::string_view reason)
      : name_(name), type_(type), reason_(reason) {}

  std::string_view name() const override { return name_; }
  DeviceType device_type() const override { return type_; }
  Support explain(const Problem&, const Machine&) const override {
    return Support::no(std::string(reason_));
  }
  std::string_view drawback(const Machine&) const override { return reason_; }
  std::vector<int> preferred_page_sizes(const AttentionShape&) const override { return {16}; }

 private:
  std::unique_ptr<Plan> make_plan(const Problem&, const Support& support) const override {
    throw Error(ErrorCode::not_possible, concat(name_, ": ", support.why_not));
  }
  void append(const AttentionShape&, const StepBatch&, const AppendArgs&) const override {
    throw Error(ErrorCode::not_possible, concat(name_, ": ", reason_));
  }

  std::string_view name_;
  DeviceType type_;
  std::string_view reason_;
};

}  // namespace headwise
