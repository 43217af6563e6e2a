#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/append_kv.h"
#include "headwise/machine.h"
#include "headwise/plan.h"

namespace headwise {

struct PlanOptions {
  int threads = 0;               ///< CPU threads; 0: all that the process may run on
  bool batch_invariant = false;  ///< a token's bits do not depend on the rest of the step
  Capacity capacity;
  /// A cudaStream_t, on which Plan::update brings the schedule to the device; runs must be ordered
  /// behind it. Unused on the CPU.
  void* stream = nullptr;
};

/// What a backend looks at to say whether it can: a shape and what is known of its steps.
struct Problem {
  AttentionShape shape;
  Phase phase = Phase::prefill;
  KvLayout layout = KvLayout::paged;
  int page_size = 16;         ///< tokens; paged only
  bool picked_pages = false;  ///< tables carry positions
  bool tables_per_kv_head = false;
  bool partial_out = false;      ///< out is f32 though shape.out_type() is not
  bool shared_prefixes = false;  ///< the step says which requests share their first keys
  Device device{};               ///< where the tensors are
  Capacity extent;               ///< the largest step
  PlanOptions options;
};

/// The problem that a step poses. The step is valid.
Problem problem_of(const AttentionShape& shape, const StepBatch& step,
                   const PlanOptions& options = {});

/// A backend's answer: the kernel row that would run, or why none can.
struct Support {
  std::string row;      ///< of the backend's table, as logs print it; empty: it cannot
  std::string why_not;  ///< one clause, where it cannot
  std::string remark;   ///< what a user should know of a row that can: how 8-bit KV is read, say

  explicit operator bool() const { return !row.empty(); }
  static Support yes(std::string row, std::string remark = {}) {
    return {std::move(row), {}, std::move(remark)};
  }
  static Support no(std::string why_not) { return {{}, std::move(why_not), {}}; }
};

/// A way to compute attention: explains, plans, runs. Stateless; one object a process.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  ///< a literal
  virtual DeviceType device_type() const = 0;

  /// Whether it can do `problem` on `machine`, with which kernel row, or why not.
  virtual Support explain(const Problem& problem, const Machine& machine) const = 0;

  /// Why another backend is preferred to this one where both can, as the log says it.
  virtual std::string_view drawback(const Machine& machine) const = 0;

  /// Page sizes in tokens, best first; pools default to the first.
  virtual std::vector<int> preferred_page_sizes(const AttentionShape& shape) const = 0;

  /// Plans `step`. Throws Error(invalid_input) on bad input, Error(not_possible) with the reason
  /// where explain() says no on this machine.
  std::unique_ptr<Plan> plan(const AttentionShape& shape, const StepBatch& step,
                             const PlanOptions& options = {}) const;

  /// Binds a layer's K and V for plans of this backend. Throws Error(invalid_input) on bad views.
  std::unique_ptr<KvBinding> bind(const AttentionShape& shape, const KvView& kv,
                                  KvLayout layout) const;

  /// Writes a step's new K and V into one layer's cache. Throws Error(invalid_input) on bad input,
  /// Error(not_possible) where the tensors are not on this backend's devices; nothing is written
  /// then. For GPUs: launches on args.stream alone, without allocating or synchronising, so that a
  /// graph may capture it.
  void append_kv(const AttentionShape& shape, const StepBatch& step, const AppendArgs& args) const;

 protected:
  /// explain() said yes to `problem`, whose extent is the capacity. The plan takes its first step
  /// afterwards.
  virtual std::unique_ptr<Plan> make_plan(const Problem& problem, const Support& support) const = 0;
  virtual std::unique_ptr<KvBinding> make_binding(const AttentionShape& shape, const KvView& kv,
                                                  KvLayout layout) const;
  /// The arguments are valid and on a device of this backend's type. Unless overridden, throws
  /// Error(not_possible).
  virtual void append(const AttentionShape& shape, const StepBatch& step,
                      const AppendArgs& args) const;
};

}  // namespace headwise
